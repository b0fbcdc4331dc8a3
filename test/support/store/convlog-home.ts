import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { ConvlogChatRef, ConvlogLine } from '../../../src/store/port/convlog.ts';
import type { Store } from '../../../src/store/port/store.ts';

export const CHAT: ConvlogChatRef = { agentId: 'main', channelType: 'telegram', channelId: '42' };

export const say = (content: string, chat: ConvlogChatRef = CHAT): ConvlogLine => ({
  ...chat,
  role: 'user',
  content,
  sender: { id: 'u1', name: 'Ann' },
});

export interface ConvlogHome {
  readonly path: string;
  open(): Promise<Store>;
  close(store: Store): Promise<void>;
  file(name?: string): string;
  /** The records of a file's lines; undefined for other lines. */
  said(name?: string): (string | undefined)[];
  sql(text: string): Record<string, unknown>[];
}

/** A home for each test of a file, whose stores are closed after it. */
export function useConvlogHome(): ConvlogHome {
  let path = '';
  let open: Store[] = [];
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'reprise-convlog-'));
  });
  afterEach(async () => {
    for (const store of open.splice(0)) await store[Symbol.asyncDispose]();
    rmSync(path, { recursive: true, force: true });
  });
  const file = (name = 'telegram/42.jsonl'): string => join(path, 'agents', 'main', 'convlogs', name);
  return {
    get path() {
      return path;
    },
    async open() {
      const store = await openStore({ kind: 'jsonl', home: path, durability: 'os' });
      open.push(store);
      return store;
    },
    async close(store) {
      open = open.filter((other) => other !== store);
      await store[Symbol.asyncDispose]();
    },
    file,
    said: (name) => readFileSync(file(name), 'utf8').split('\n').slice(0, -1).map(contentOf),
    sql(text) {
      const db = new DatabaseSync(join(path, 'control.db'), { timeout: 5000 });
      try {
        return db.prepare(text).all();
      } finally {
        db.close();
      }
    },
  };
}

function contentOf(line: string): string | undefined {
  try {
    return (JSON.parse(line) as { content?: string }).content;
  } catch {
    // Torn, or not ours.
    return undefined;
  }
}

export async function texts(store: Store, chat: ConvlogChatRef = CHAT): Promise<string[]> {
  const all: string[] = [];
  for (let from: number | null = 1; from !== null; ) {
    const page = await store.convlog.read(chat, { from, limit: 1000 });
    all.push(...page.lines.map(({ content }) => content));
    from = page.next;
  }
  return all;
}

export async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 50_000;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
