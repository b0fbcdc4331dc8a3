import type { Model } from '../models/model.ts';
import { type CreateModelOptions, createModel } from './create-model.ts';
import { fullModelName } from './model-list.ts';

/**
 * Models that sessions can choose by name. The engine needs a model at once when a turn starts, but creating one may
 * load its adapter. So code that selects a name, or opens a session that has one, loads it first.
 */
export class ModelBook {
  readonly #optionsFor: (name: string) => CreateModelOptions;
  readonly #models: Map<string, Model> = new Map();

  constructor(optionsFor: (name: string) => CreateModelOptions = () => ({})) {
    this.#optionsFor = optionsFor;
  }

  add(name: string, model: Model): void {
    this.#models.set(name, model);
  }

  get(name: string): Model | undefined {
    return this.#models.get(name);
  }

  /** Throws MODEL_UNKNOWN, or the error for a missing key or address. */
  async load(name: string): Promise<Model> {
    const full = this.#models.has(name) ? name : fullModelName(name);
    const model = this.#models.get(full) ?? (await createModel(full, this.#optionsFor(full)));
    this.#models.set(full, model);
    this.#models.set(name, model);
    return model;
  }
}
