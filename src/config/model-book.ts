import type { Model } from '../models/model.ts';
import { type CreateModelOptions, createModel } from './create-model.ts';

/**
 * Models that sessions name. The engine asks for one when a turn begins and cannot wait; making one may mean to load
 * its adapter. So whoever chooses a name, or opens a session that has one, loads it first.
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

  /** Throws MODEL_UNKNOWN, or what is missing to use it. */
  async load(name: string): Promise<Model> {
    const model = this.#models.get(name) ?? (await createModel(name, this.#optionsFor(name)));
    this.#models.set(name, model);
    return model;
  }
}
