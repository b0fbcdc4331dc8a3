import { causeText } from '../../messages/english.ts';
import { type Message, message } from '../../messages/message.ts';
import { quoted } from '../../messages/quoted.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { oneLine } from '../commands/command-context.ts';
import { isRunning } from '../schedule/queue.ts';
import { THINKING_LEVELS } from '../session-settings.ts';
import { wrongValue } from '../settings-patch.ts';
import type { Cleanup } from './subagent-run.ts';

export interface SpawnRequest {
  readonly task: string;
  /** The name of the child for people and for the parent. */
  readonly label?: string;
  /** Unset: the parent's agent. */
  readonly agentId?: string;
  readonly model?: string;
  readonly thinking?: string;
  /** Time limit from now on; 0 or unset: no limit. */
  readonly runTimeoutSeconds?: number;
  /** `keep` by default. */
  readonly cleanup?: Cleanup;
}

export interface SpawnResult {
  readonly status: 'accepted' | 'forbidden' | 'error';
  readonly childSessionKey?: string;
  readonly runId?: string;
  /** Set if a model was requested. */
  readonly modelApplied?: boolean;
  /** In English: it was accepted, but not as it was asked for. */
  readonly warning?: string;
  /** In English: why it was not accepted. */
  readonly reason?: string;
  /** `warning` or `reason` as a code. */
  readonly why?: Message;
}

const MAX_LABEL = 60;
const MAX_TIMEOUT_SECONDS = 7 * 24 * 60 * 60;

export function checkSpawnRequest({
  task,
  label,
  model,
  thinking,
  runTimeoutSeconds = 0,
  cleanup = 'keep',
}: SpawnRequest): void {
  if (typeof task !== 'string') throw wrongValue('task', task, [{ is: 'text' }]);
  for (const [name, value] of Object.entries({ label, model }))
    if (value !== undefined && typeof value !== 'string') throw wrongValue(name, value, [{ is: 'text' }]);
  if (thinking !== undefined && !(THINKING_LEVELS as readonly string[]).includes(thinking))
    throw wrongValue('thinking', thinking, [{ is: 'oneOf', values: THINKING_LEVELS }]);
  if (!(runTimeoutSeconds >= 0 && runTimeoutSeconds <= MAX_TIMEOUT_SECONDS))
    throw wrongValue('runTimeoutSeconds', runTimeoutSeconds, [
      { is: 'number', min: 0, max: MAX_TIMEOUT_SECONDS },
    ]);
  if (cleanup !== 'keep' && cleanup !== 'delete')
    throw wrongValue('cleanup', cleanup, [{ is: 'oneOf', values: ['delete', 'keep'] }]);
}

/** A label appears in lists, in the parent's context and on terminals: a short line without control characters. */
export function cleanLabel(label: string): string {
  return oneLine(label.replace(/[\p{C}"[\]]+/gu, ' '), MAX_LABEL);
}

export function modelNote(
  model: string | undefined,
  isKnown: boolean,
): Pick<SpawnResult, 'modelApplied' | 'warning' | 'why'> {
  if (model === undefined) return {};
  if (isKnown) return { modelApplied: true };
  const why = message('spawn.unknownModel', { model: quoted(model) });
  return { modelApplied: false, warning: causeText(why), why };
}

/** The message that the session's running turn answers. */
export async function runningItem({ inbox }: Store, sessionId: string): Promise<InboxItem | undefined> {
  return (await inbox.pending(sessionId)).find(isRunning);
}

/** The channel and chat of the message that the parent is answering, without its sender. */
export async function requesterOf(store: Store, parentSessionId: string): Promise<JsonObject | undefined> {
  const from = (await runningItem(store, parentSessionId))?.body['from'];
  if (!isObject(from)) return undefined;
  const { channel, account, guild, peer, peerKind, thread } = from;
  return JSON.parse(JSON.stringify({ channel, account, guild, peer, peerKind, thread })) as JsonObject;
}
