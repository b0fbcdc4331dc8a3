import type { LoadedConfig } from '../config/load.ts';
import type { SessionRecord } from '../store/store.ts';

/**
 * `--model` decides for this run, whatever a session has stored: an imported or forgotten choice must not send the
 * next message to another provider. It ends for a session in which the user chooses a model with /model. A subagent
 * has the model it was spawned with.
 */
export class ModelFlag {
  readonly isGiven: boolean;
  readonly #released: Set<string> = new Set();

  constructor({ origins }: Pick<LoadedConfig, 'origins'>) {
    this.isGiven = origins.get('model')?.source === 'flag';
  }

  wins({ id, settings }: Pick<SessionRecord, 'id' | 'settings'>): boolean {
    return this.isGiven && settings['spawnedBy'] === undefined && !this.#released.has(id);
  }

  release(sessionId: string): void {
    this.#released.add(sessionId);
  }
}
