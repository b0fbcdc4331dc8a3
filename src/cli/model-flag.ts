import type { LoadedConfig } from '../config/load.ts';
import type { ModelFallbackEvent } from '../engine/events.ts';
import { ENGLISH } from '../messages/english.ts';
import { textOf } from '../messages/message.ts';
import type { SessionRecord } from '../store/port/store.ts';

/**
 * `--model` decides for this run, whatever a session has stored: an imported or forgotten choice must not send the
 * next message to another provider. A subagent runs on the model it was spawned with, unless the user opened its
 * session.
 */
export class ModelFlag {
  readonly isGiven: boolean;
  readonly #opened: Set<string> = new Set();

  constructor({ origins }: Pick<LoadedConfig, 'origins'>) {
    this.isGiven = origins.get('model')?.source === 'flag';
  }

  wins({ id, settings }: Pick<SessionRecord, 'id' | 'settings'>): boolean {
    return this.isGiven && (settings['spawnedBy'] === undefined || this.#opened.has(id));
  }

  /** Call it for a session that the user named. */
  open(sessionId: string): void {
    this.#opened.add(sessionId);
  }
}

/** Which model is missing, which one answers instead, and why. */
export function fallbackText({ wanted, model, why }: Omit<ModelFallbackEvent, 'type' | 'reason'>): string {
  return `The model of this session, ${wanted}, is not available here, so ${model} answers instead. ${textOf(ENGLISH, why, ' ')}`;
}
