import type { ModelBook } from '../../config/model-book.ts';
import { modelBookFor } from '../../config/model-book-for.ts';
import { openConfigured } from '../../config/open-configured.ts';
import type { Config } from '../../config/schema.ts';
import type { Reprise } from '../../engine/reprise.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import type { ModelFlag } from '../model-flag.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';

export interface Engine {
  readonly reprise: Reprise;
  readonly models: ModelBook;
}

/** An engine for one command: it runs what it is asked for and nothing that waits. */
export async function openEngine(store: Store, config: Config, modelFlag: ModelFlag): Promise<Engine> {
  const models = modelBookFor(config);
  const modelWins = (record: SessionRecord): boolean => modelFlag.wins(record);
  const onWarning = (warning: string): void => say(escapeForTerminal(warning));
  return {
    models,
    reprise: await openConfigured(config, { store, models, modelWins, run: false, onWarning }),
  };
}
