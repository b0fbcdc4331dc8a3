import type { ThinkingLevel } from '../../models/model.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { checkOneOf, configFault } from '../check-config.ts';
import { THINKING_LEVELS } from '../session-settings.ts';

/** Settings of one turn. They are stored with its message, so a turn that is resumed after a crash has them too. */
export interface TurnSettings {
  /** A model by name, as in `session.patch({ model })`. */
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  /** The longest answer of one model call, in tokens. */
  readonly maxTokens?: number;
  readonly temperature?: number;
}

export const TURN_SETTINGS: readonly string[] = ['model', 'thinking', 'maxTokens', 'temperature'];
const TURN = 'turn';

/** The settings of a turn for the body of its message; empty if there are none. */
export function turnBody({ model, thinking, maxTokens, temperature }: TurnSettings): JsonObject {
  if (model !== undefined && (typeof model !== 'string' || model === ''))
    throw configFault('model', model, { is: 'nonEmptyText' });
  if (thinking !== undefined) checkOneOf('thinking', thinking, THINKING_LEVELS);
  if (maxTokens !== undefined && !(Number.isSafeInteger(maxTokens) && maxTokens > 0))
    throw configFault('maxTokens', maxTokens, { is: 'integer', min: 1 });
  if (temperature !== undefined && !(temperature >= 0 && temperature <= 2))
    throw configFault('temperature', temperature, { is: 'number', min: 0, max: 2 });
  const settings = {
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinkingLevel: thinking }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(temperature !== undefined && { temperature }),
  };
  return Object.keys(settings).length === 0 ? {} : { [TURN]: settings };
}

/** The session as the turn of this message sees it. */
export function withTurnSettings(record: SessionRecord, { body }: Pick<InboxItem, 'body'>): SessionRecord {
  const own = body[TURN];
  return isObject(own) ? { ...record, settings: { ...record.settings, ...own } } : record;
}
