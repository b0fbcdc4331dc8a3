import type { RoutingRules } from '../keys/resolve.ts';
import type { SessionRecord } from '../store/port/store.ts';
import { type MaintenanceRules, parseMaintenanceRules } from './admin/maintenance-rules.ts';
import { type Agents, agentOptions } from './agents/agents.ts';
import { checkOneOf } from './check-config.ts';
import { SENDER_COMMANDS, type SenderCommand } from './commands/commands.ts';
import { checkResetRules, type ResetRules } from './intake/freshness.ts';
import { checkSendPolicy, type SendPolicy } from './intake/send-policy.ts';
import { type QueueSettings, queueSettings } from './session-settings.ts';
import { checkHistoryTurns, type HistoryTurnRules } from './window/history-turns.ts';

/** How conversations are found, begun, queued and kept; for all agents, or for one. */
export interface SessionOptions extends RoutingRules, ResetRules, HistoryTurnRules {
  /** False: sessions live in this process only; wants a store that keeps nothing. */
  readonly enabled?: boolean;
  /** At most so many messages are kept by a compaction. */
  readonly historyLimit?: number;
  readonly queue?: Partial<QueueSettings> & {
    /** Instead of the above, by the name of a channel. */
    readonly byChannel?: Readonly<Record<string, Partial<QueueSettings>>>;
  };
  readonly sendPolicy?: SendPolicy;
  /** Commands of the owner that every sender on a channel may use too, see `SENDER_COMMANDS`. */
  readonly senderCommands?: readonly SenderCommand[];
  /** What may go by itself; unset: nothing. Looked at once an hour by engines that run sessions. */
  readonly maintenance?: MaintenanceRules;
  /** Whether the first message of a thread brings along what was said where it hangs. */
  readonly threads?: { readonly fork?: boolean; readonly maxTokens?: number };
}

const DEFAULT_QUEUE: QueueSettings = { mode: 'steer', debounceMs: 500, cap: 20, drop: 'summarize' };

export function checkSessionOptions(options: SessionOptions): void {
  checkResetRules(options);
  checkHistoryTurns(options);
  if (options.sendPolicy !== undefined) checkSendPolicy(options.sendPolicy);
  for (const [i, name] of (options.senderCommands ?? []).entries())
    checkOneOf(`senderCommands.${i}`, name, SENDER_COMMANDS);
  if (options.maintenance !== undefined) parseMaintenanceRules(options.maintenance);
}

/** What an agent says for itself stands over what holds for all. */
export function sessionOptionsOf(all: SessionOptions, agents: Agents, agentId: string): SessionOptions {
  return { ...all, ...agentOptions(agents, agentId).session };
}

/** By the session, else its channel, else the configuration. */
export function queueFor(
  { queue: { byChannel = {}, ...queue } = {} }: SessionOptions,
  record: SessionRecord | undefined,
  channel?: string,
): QueueSettings {
  const own = channel !== undefined && Object.hasOwn(byChannel, channel) ? byChannel[channel] : {};
  return queueSettings(record?.settings ?? {}, { ...DEFAULT_QUEUE, ...queue, ...own });
}
