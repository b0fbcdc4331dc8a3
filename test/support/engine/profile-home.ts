import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../../src/config/open.ts';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Session } from '../../../src/engine/session.ts';
import type { Model, ModelRequest } from '../../../src/models/model.ts';
import { entriesOf, type Opened } from './engine.ts';

export interface Home extends AsyncDisposable {
  readonly path: string;
  /** An engine on the files of this home; opened again after it was disposed, it is a restart. */
  open<M extends Model>(model: M, options?: HomeOptions): Promise<Opened<M>>;
}

export interface HomeOptions extends Partial<RepriseOptions> {
  readonly key?: string;
}

export async function tempHome(kind: 'jsonl' | 'sqlite'): Promise<Home> {
  const path = await mkdtemp(join(tmpdir(), 'reprise-profile-'));
  return {
    path,
    open: async (model, { key = 'agent:main:main', ...options } = {}) => {
      const store = options.store ?? (await openStore({ kind, home: path, durability: 'os' }));
      const compaction = { background: false as const, ...options.compaction };
      const reprise = new Reprise({ run: false, ...options, compaction, store, model });
      const session = await reprise.session(key);
      return { reprise, session, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

export interface Stored {
  readonly id: string;
  readonly role: string;
  readonly text: string;
}

/** The stored messages, with their texts. */
export async function messagesOf(session: Session): Promise<Stored[]> {
  const entries = await entriesOf(session);
  return entries.flatMap(({ type, id, message }) => {
    if (type !== 'message') return [];
    const { role, content } = message as { role: string; content: string | { text?: string }[] };
    const text = typeof content === 'string' ? content : content.map((block) => block.text ?? '').join('');
    return [{ id, role, text }];
  });
}

export async function compactionsOf(session: Session): Promise<Record<string, unknown>[]> {
  return (await entriesOf(session)).filter(({ type }) => type === 'compaction');
}

/** What a request says, one `role: text` per message. */
export function linesOf(request: ModelRequest | undefined): string[] {
  return (request?.messages ?? []).map((message) => {
    if (message.role === 'tool') return `tool: ${message.results.map(({ text }) => text).join()}`;
    const parts = message.content.map((part) => {
      if (part.type === 'text') return part.text;
      return part.type === 'call' ? `(${part.name})` : `[${part.type}]`;
    });
    return `${message.role}: ${parts.join('')}`;
  });
}

/** A text of exactly so many characters that tokenizers do not find strange. */
export function prose(length: number): string {
  // No blank at the end: it would be trimmed.
  const text = 'the river runs to the sea and the sea is wide '.repeat(Math.ceil(length / 46));
  return `${text.slice(0, length - 1)}.`;
}
