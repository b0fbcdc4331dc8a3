import { createModel } from '../config/create-model.ts';
import { ModelBook } from '../config/model-book.ts';
import { openReprise } from '../config/open-reprise.ts';
import type { Reprise } from '../engine/reprise.ts';
import type { Store } from '../store/store.ts';
import { homeOf } from './home.ts';
import { type Options, textOption } from './options.ts';

/** An engine for one command: it runs what it is asked for and nothing that waits. */
export async function openEngine(store: Store, options: Options): Promise<Reprise> {
  const model = await createModel(textOption(options['model']) ?? 'offline');
  const models = new ModelBook();
  return openReprise({
    home: homeOf(options).path,
    store,
    model,
    modelByName: (name) => models.get(name),
    run: false,
  });
}
