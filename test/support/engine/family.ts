import { openStore, type StoreKind } from '../../../src/config/open.ts';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { ModelRequest } from '../../../src/exports/models.ts';
import type { InboxItem, StoredEntry } from '../../../src/exports/store.ts';
import type { Store } from '../../../src/index.ts';
import {
  createScriptedModel,
  type ScriptedModel,
  type ScriptedStep,
} from '../../../src/models/scripted/scripted-model.ts';
import { complaintsOf, KEY } from './engine.ts';

/** What the model is asked last: a user's words, the results of tools, or the result of a child. */
export interface Asked {
  readonly text: string;
  readonly isResult: boolean;
  readonly request: ModelRequest;
}

/** A model whose every answer follows from the last message, for parents and children alike. */
export function replying(reply: (asked: Asked) => ScriptedStep): ScriptedModel {
  const step = (request: ModelRequest): ScriptedStep => {
    const last = request.messages.at(-1);
    if (last?.role === 'tool') return reply({ text: JSON.stringify(last.results), isResult: true, request });
    const parts = last?.role === 'user' ? last.content : [];
    const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    return reply({ text, isResult: false, request });
  };
  return createScriptedModel(Array(500).fill(step), { contextWindow: 200_000, validate: complaintsOf });
}

export function call(name: string, input: object): { name: string; input: Record<string, unknown> } {
  return { name, input: { ...input } };
}

export interface Family extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly store: Store;
  readonly model: ScriptedModel;
}

export async function openFamily(
  model: ScriptedModel,
  { kind = 'memory', home, ...options }: Partial<RepriseOptions> & { kind?: StoreKind; home?: string } = {},
): Promise<Family> {
  const store = options.store ?? (await openStore({ kind, durability: 'os', ...(home && { home }) }));
  const reprise = new Reprise({
    compaction: { background: false },
    agents: { defaults: { subagents: {} } },
    ...options,
    store,
    model,
  });
  return { reprise, store, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

/** Says something to a session, waits for the answer and for everything that follows from it. */
export async function ask(reprise: Reprise, text: string, key: string = KEY): Promise<string> {
  const session = await reprise.session(key);
  const { text: answer } = await session.send(text).result;
  await reprise.idle();
  return answer;
}

/** Results of children in the history of a session. */
export async function resultsIn(store: Store, key: string = KEY): Promise<string[]> {
  const record = await store.active(key);
  if (record === undefined) return [];
  const { entries } = await store.read(record.id, { limit: 1000 });
  return entries.flatMap(({ entry }: StoredEntry) => {
    const { customType, content } = entry as { customType?: unknown; content?: unknown };
    return customType === 'subagent_result' ? [String(content)] : [];
  });
}

export async function idOf(store: Store, key: string = KEY): Promise<string> {
  const record = await store.active(key);
  if (record === undefined) throw new Error(`no session ${key}`);
  return record.id;
}

export function waiting(items: readonly InboxItem[]): InboxItem[] {
  return items.filter(({ state }) => state === 'accepted');
}
