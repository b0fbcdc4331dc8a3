import assert from 'node:assert/strict';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { assistant, beforeAndAfter, leafMove, note, session, user } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const WORDS = 'The ferry to the island leaves at a quarter past nine and costs twelve euros. ';
/** More than a line keeps: it is stored as a blob. */
const LARGE = WORDS.repeat(1500);

export const tokenCases: readonly StoreCase[] = [
  {
    name: 'the tokens of a session are estimated where no usage was reported',
    promise: 'P9: lists show the current state',
    area: 'list',
    async run({ store, reopen }) {
      const id = await session(store);
      const steps: readonly NewEntry[] = [
        user(WORDS.repeat(10)),
        assistant(WORDS.repeat(20)),
        // Servers that count nothing report zero.
        reported(WORDS.repeat(5), 0),
        toolResult(LARGE),
      ];
      let before = await tokens(store, id);
      assert.equal(before, 0);
      for (const entry of steps) {
        const chars = textOf(entry).length;
        await store.append(id, [entry]);
        const added = (await tokens(store, id)) - before;
        before += added;
        assert.ok(added > chars / 8 && added < chars / 2, `${chars} characters add ${added} tokens`);
      }
      for await (const open of beforeAndAfter({ store, reopen }))
        assert.equal(await tokens(open, id), before);
    },
  },
  {
    name: 'reported usage, the end of a turn, a compaction and a move say how large the context is',
    promise: 'P9: lists show the current state',
    area: 'list',
    async run({ store, reopen }) {
      const id = await session(store, [WORDS]);
      const known: readonly (readonly [NewEntry, number])[] = [
        [reported('a', 5000), 5000],
        [note('turn', { status: 'done', tokenEstimate: 6000 }), 6000],
        [note('turn', { status: 'aborted' }), 6000],
        [compacted(700), 700],
        [{ ...leafMove(null), data: { tokenEstimate: 40 } }, 40],
        [{ ...leafMove(null), data: { tokenEstimate: -3 } }, 40],
        [note('settings', { tokenEstimate: 9 }), 40],
      ];
      for (const [entry, count] of known) {
        await store.append(id, [entry]);
        assert.equal(await tokens(store, id), count, JSON.stringify(entry));
      }
      await store.append(id, [user(WORDS)]);
      const last = await tokens(store, id);
      assert.ok(last > 40 + WORDS.length / 8, 'what follows adds to it');
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal(await tokens(open, id), last);
        assert.equal((await open.list({ sort: 'tokens' })).sessions[0]?.tokenEstimate, last);
      }
    },
  },
];

async function tokens(store: Store, id: string): Promise<number> {
  return (await store.get(id)).tokenEstimate;
}

function reported(text: string, totalTokens: number): NewEntry {
  const usage = { input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens };
  const { message } = assistant(text);
  return { type: 'message', message: { ...(message as JsonObject), usage } };
}

function toolResult(text: string): NewEntry {
  const content = [{ type: 'text', text }];
  const message = { role: 'toolResult', toolCallId: 'c', toolName: 'read', content, isError: false };
  return { type: 'message', message };
}

function compacted(tokensAfter: number): NewEntry {
  const range = { firstKeptEntryId: 'none', tokensBefore: 6000, tokensAfter };
  return { type: 'compaction', summary: 'so far', ...range };
}

function textOf({ message }: NewEntry): string {
  const { content } = message as { readonly content: string | readonly { readonly text: string }[] };
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}
