import type { TurnEvent } from '../../../src/engine/events.ts';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Session } from '../../../src/engine/session.ts';
import type { Entry } from '../../../src/index.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { modelError } from '../../../src/models/model-error.ts';
import {
  createScriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from '../../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

export const KEY = 'agent:main:main';

export interface Opened<M extends Model> extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly session: Session;
  readonly model: M;
}

/** An engine on a memory store, with a session to talk to. */
export async function openEngine<M extends Model>(
  model: M,
  options: Partial<RepriseOptions> = {},
): Promise<Opened<M>> {
  const store = options.store ?? (await openMemoryStore({}));
  const reprise = new Reprise({ run: false, compaction: { background: false }, ...options, store, model });
  const session = await reprise.session(KEY);
  return { reprise, session, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

/** Plays a script and refuses every request a provider would refuse. */
export function scripted(steps: readonly ScriptedStep[], contextWindow = 200_000): ScriptedModel {
  return createScriptedModel(steps, { contextWindow, validate: complaintsOf });
}

/** By the strictest of them: what Anthropic takes, all take. */
export function complaintsOf({ messages }: ModelRequest): { message: string }[] {
  const roles = messages.map(({ role }) => role);
  // A user may speak right behind results: a turn that was interrupted leaves it so, and both are one turn on the wire.
  const complaints = roles.flatMap((role, i) => (role === roles[i - 1] ? [`two ${role} turns at ${i}`] : []));
  if (roles[0] !== 'user') complaints.push('the first turn is not a user turn');
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool' && roles[i - 1] !== 'assistant')
      complaints.push(`results of nothing at ${i}`);
    if (message.role !== 'assistant') continue;
    const calls = message.content.flatMap((part) => (part.type === 'call' ? [part.id] : []));
    const next = messages[i + 1];
    const results = next?.role === 'tool' ? next.results.map(({ callId }) => callId) : [];
    if (calls.join() !== results.join()) complaints.push(`calls ${calls} are answered by ${results}`);
  }
  return complaints.map((message) => ({ message }));
}

export async function say(session: Session, text: string): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of session.send(text)) events.push(event);
  return events;
}

export async function entriesOf(session: Session): Promise<Entry[]> {
  const { entries } = await session.history({ limit: 1000 });
  return entries.flatMap(({ entry }) => (entry.type === 'session' ? [] : [entry as Entry]));
}

export function overflow(limit?: number, actual?: number): Error {
  const message =
    limit === undefined
      ? 'Input is too long for requested model.'
      : `prompt is too long: ${actual} tokens > ${limit} maximum`;
  return modelError(
    { status: 400, codes: ['invalid_request_error'], message },
    { provider: 'scripted', id: 'scripted' },
    0,
  );
}

export function rateLimit(): Error {
  const message = 'This request would exceed your rate limit of 30,000 input tokens per minute';
  return modelError(
    { status: 429, codes: ['rate_limit_error'], message },
    { provider: 'scripted', id: 'scripted' },
    0,
  );
}
