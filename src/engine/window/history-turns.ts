import { isSubagentSessionKey } from '../../keys/predicates.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { checkNames, configFault } from '../check-config.ts';
import { ruleForChat } from '../intake/rule-for-chat.ts';

/**
 * How many turns of a conversation are sent to the model. Nothing is deleted: a higher limit sends older turns again.
 */
export interface HistoryTurnRules {
  /** Unset: as many as the context window holds. */
  readonly historyTurns?: number;
  /** Overrides `historyTurns`: in direct chats, in groups and channels, in threads of either. */
  readonly historyTurnsByType?: {
    readonly direct?: number;
    readonly group?: number;
    readonly thread?: number;
  };
  /** Overrides both, by channel name. */
  readonly historyTurnsByChannel?: Readonly<Record<string, number>>;
  /** Overrides all others, in the direct chat of a sender: `{ "telegram:12345": 50 }`. */
  readonly historyTurnsBySender?: Readonly<Record<string, number>>;
}

/** The limit by the session's setting, else by its key. @returns `undefined` without a limit. */
export function historyTurnsFor(
  rules: HistoryTurnRules,
  { sessionKey, settings }: Pick<SessionRecord, 'sessionKey' | 'settings'>,
): number | undefined {
  const { historyTurns: own } = settings;
  if (typeof own === 'number' && own > 0) return own;
  // A child's session is a single task and is useless if cut.
  if (isSubagentSessionKey(sessionKey)) return undefined;
  const {
    historyTurns,
    historyTurnsByType = {},
    historyTurnsByChannel = {},
    historyTurnsBySender = {},
  } = rules;
  const parts = parseSessionKey(sessionKey);
  if (parts.kind === 'direct') {
    const sender = `${parts.channel ?? ''}:${parts.peer}`;
    if (Object.hasOwn(historyTurnsBySender, sender)) return historyTurnsBySender[sender];
  }
  const byChat = { all: historyTurns, byType: historyTurnsByType, byChannel: historyTurnsByChannel };
  return ruleForChat(sessionKey, byChat);
}

/** Throws CONFIG_INVALID for a limit that would send nothing. */
export function checkHistoryTurns(rules: HistoryTurnRules): void {
  const {
    historyTurns,
    historyTurnsByType = {},
    historyTurnsByChannel = {},
    historyTurnsBySender = {},
  } = rules;
  checkNames('historyTurnsByType', historyTurnsByType, ['direct', 'group', 'thread']);
  const all = { historyTurns, ...historyTurnsByType, ...historyTurnsByChannel, ...historyTurnsBySender };
  for (const [name, turns] of Object.entries(all)) {
    if (turns === undefined || (Number.isSafeInteger(turns) && turns > 0)) continue;
    throw configFault(`historyTurns of ${name}`, turns, { is: 'integer', min: 1 });
  }
}
