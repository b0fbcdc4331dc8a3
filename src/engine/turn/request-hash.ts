import { createHash, type Hash } from 'node:crypto';
import type { ModelRequest } from '../../models/model.ts';
import type { ProjectedMessage } from '../../transcript/render/conversation.ts';

/** What had gone into a hash when this message was the last one. */
interface Progress {
  readonly head: string;
  readonly messages: readonly ProjectedMessage[];
  readonly hash: Hash;
}

/** By message. Only for frozen ones: others may have changed since they were hashed. */
const progress = new WeakMap<ProjectedMessage, Progress>();

/**
 * Of exactly what is sent, so that `explain` can show that it has rebuilt the same request: SHA-256 of the JSON text of
 * `{system, tools, messages}`. A request that continues the one before it costs only what is new in it.
 */
export function requestHash({ system = '', messages, tools = [] }: ModelRequest): string {
  const head = `{"system":${JSON.stringify(system)},"tools":${JSON.stringify(tools)},"messages":[`;
  const known = progressOf(head, messages);
  const hash = known?.hash ?? createHash('sha256').update(head);
  for (let at = known?.messages.length ?? 0; at < messages.length; at++)
    hash.update(`${at === 0 ? '' : ','}${JSON.stringify(messages[at])}`);
  const last = messages.at(-1);
  if (last !== undefined && messages.every((message) => Object.isFrozen(message)))
    progress.set(last, { head, messages: [...messages], hash: hash.copy() });
  return hash.update(']}').digest('hex');
}

function progressOf(head: string, messages: readonly ProjectedMessage[]): Progress | undefined {
  const last = messages.findLast((message) => progress.has(message));
  const known = last === undefined ? undefined : progress.get(last);
  if (last === undefined || known === undefined || known.head !== head) return undefined;
  if (known.messages.some((message, at) => message !== messages[at])) return undefined;
  // Taken: its place is behind what comes now.
  progress.delete(last);
  return known;
}
