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

/** How conversations are found, created, queued and retained; for all agents, or for one. */
export interface SessionOptions extends RoutingRules, ResetRules, HistoryTurnRules {
  /** False: sessions live in this process only; requires a store that saves nothing. */
  readonly enabled?: boolean;
  /** Maximum number of messages that a compaction keeps. */
  readonly historyLimit?: number;
  readonly queue?: Partial<QueueSettings> & {
    /** Overrides by channel name. */
    readonly byChannel?: Readonly<Record<string, Partial<QueueSettings>>>;
  };
  readonly sendPolicy?: SendPolicy;
  /** Owner commands that every sender on a channel may use too, see `SENDER_COMMANDS`. */
  readonly senderCommands?: readonly SenderCommand[];
  /** What may be deleted automatically; unset: nothing. Checked once an hour by engines that run sessions. */
  readonly maintenance?: MaintenanceRules;
  /** Whether a thread's session starts with the conversation before the thread. */
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

/** The options of an agent override those for all. */
export function sessionOptionsOf(all: SessionOptions, agents: Agents, agentId: string): SessionOptions {
  return { ...all, ...agentOptions(agents, agentId).session };
}

/** The queue settings of the session, else of its channel, else of the configuration. */
export function queueFor(
  { queue: { byChannel = {}, ...queue } = {} }: SessionOptions,
  record: SessionRecord | undefined,
  channel?: string,
): QueueSettings {
  const own = channel !== undefined && Object.hasOwn(byChannel, channel) ? byChannel[channel] : {};
  return queueSettings(record?.settings ?? {}, { ...DEFAULT_QUEUE, ...queue, ...own });
}
