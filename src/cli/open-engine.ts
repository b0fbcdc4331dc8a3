import type { ModelBook } from '../config/model-book.ts';
import { modelBookFor } from '../config/model-book-for.ts';
import { openConfigured } from '../config/open-configured.ts';
import type { Config } from '../config/schema.ts';
import type { Reprise } from '../engine/reprise.ts';
import type { Store } from '../store/store.ts';

export interface Engine {
  readonly reprise: Reprise;
  readonly models: ModelBook;
}

/** An engine for one command: it runs what it is asked for and nothing that waits. */
export async function openEngine(store: Store, config: Config): Promise<Engine> {
  const models = modelBookFor(config);
  return { models, reprise: await openConfigured(config, { store, models, run: false }) };
}
