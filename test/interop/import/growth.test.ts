import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Entry, Store } from '../../../src/index.ts';
import { isObject } from '../../../src/transcript/json.ts';
import { pathEntries } from '../../../src/transcript/tree.ts';
import { breakAfter } from '../../support/store/interop-breaks.ts';
import {
  entriesOf,
  everySession,
  freshFolder,
  freshStore,
  importFrom,
} from '../../support/store/interop-home.ts';

const line = (id: string, parentId: string | null, text: string, role: string = 'user'): string =>
  `${JSON.stringify({
    ...{ type: 'message', id, parentId, timestamp: `2026-01-01T00:00:${id.padStart(2, '0')}.000Z` },
    message: { role, content: role === 'user' ? text : [{ type: 'text', text }] },
  })}\n`;
const HEADER = `${JSON.stringify({ type: 'session', version: 3, id: 'grows', timestamp: '2026-01-01T00:00:00.000Z' })}\n`;

function sourceOf(...lines: readonly string[]): string {
  const path = join(freshFolder(), 'grows.jsonl');
  writeFileSync(path, HEADER + lines.join(''));
  return path;
}

function textsOf(entries: readonly Entry[]): string[] {
  return entries
    .filter(({ type }) => type === 'message')
    .map(({ message }) => {
      const content = isObject(message) ? message['content'] : '';
      return typeof content === 'string'
        ? content
        : (content as { text: string }[]).map(({ text }) => text).join();
    });
}

const storedTexts = async (store: Store): Promise<string[]> => textsOf(await entriesOf(store, 'grows'));
const branchTexts = async (store: Store): Promise<string[]> =>
  textsOf(pathEntries(await entriesOf(store, 'grows')));

describe('a source that has grown', () => {
  test('is appended to its session, ten times, without a second copy of anything', async () => {
    const path = sourceOf(line('1', null, 'message 1'));
    const store = await freshStore();
    for (let n = 2; n <= 11; n++) {
      await importFrom(store, path);
      appendFileSync(
        path,
        line(String(n), String(n - 1), `message ${n}`, n % 2 === 0 ? 'assistant' : 'user'),
      );
      const { sessions } = await importFrom(store, path);
      expect(sessions[0]).toMatchObject({ action: 'grown', id: 'grows', added: 1, changed: 0 });
      expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
    }
    expect(await branchTexts(store)).toEqual(Array.from({ length: 11 }, (_, i) => `message ${i + 1}`));
    expect(await storedTexts(store)).toEqual(await branchTexts(store));
    expect((await everySession(store)).length).toBe(1);
    expect((await store.get('grows')).lastAt).toBe('2026-01-01T00:00:11.000Z');
  });

  test('becomes a side branch of a session that was continued here', async () => {
    const path = sourceOf(line('1', null, 'first'), line('2', '1', 'second', 'assistant'));
    const store = await freshStore();
    await importFrom(store, path);
    await store.append('grows', [{ type: 'message', message: { role: 'user', content: 'continued here' } }]);
    const here = await branchTexts(store);
    for (let n = 3; n <= 5; n++) {
      appendFileSync(path, line(String(n), String(n - 1), `there ${n}`));
      const { sessions } = await importFrom(store, path);
      expect(sessions[0]).toMatchObject({ action: 'grown', added: 1 });
      expect(await branchTexts(store)).toEqual(here);
    }
    expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
    const all = await entriesOf(store, 'grows');
    expect(textsOf(all)).toEqual(['first', 'second', 'continued here', 'there 3', 'there 4', 'there 5']);
    const tip = all.find(({ message }) => String(JSON.stringify(message)).includes('there 5'));
    expect(textsOf(pathEntries(all, tip?.id))).toEqual(['first', 'second', 'there 3', 'there 4', 'there 5']);
  });

  test('gets a branch for an entry that changed, and a remark', async () => {
    const path = sourceOf(line('1', null, 'first'), line('2', '1', 'second'));
    const store = await freshStore();
    await importFrom(store, path);
    writeFileSync(
      path,
      HEADER + line('1', null, 'first') + line('2', '1', 'second, edited') + line('3', '2', 'third'),
    );
    const { sessions } = await importFrom(store, path);
    expect(sessions[0]).toMatchObject({ action: 'grown', changed: 1 });
    expect(sessions[0]?.notes.join()).toContain('1 entries changed in the source');
    expect(await storedTexts(store)).toEqual(['first', 'second', 'second, edited', 'third']);
    expect(await branchTexts(store)).toEqual(['first', 'second, edited', 'third']);
    expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
  });

  test('gets the new blocks of an answer that was imported while it was written', async () => {
    const answer = (blocks: number): string =>
      `${JSON.stringify({
        ...{ type: 'message', id: '2', parentId: '1', timestamp: '2026-01-01T00:00:02.000Z' },
        message: {
          role: 'assistant',
          content: Array.from({ length: blocks }, (_, i) => ({ type: 'text', text: `block ${i + 1}` })),
        },
      })}\n`;
    const path = sourceOf(line('1', null, 'ask'), answer(1));
    const store = await freshStore();
    await importFrom(store, path);
    for (const blocks of [2, 4]) {
      writeFileSync(path, HEADER + line('1', null, 'ask') + answer(blocks));
      const { sessions } = await importFrom(store, path);
      expect(sessions[0]).toMatchObject({ action: 'grown', changed: 0 });
      expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
    }
    appendFileSync(path, line('3', '2', 'thanks'));
    await importFrom(store, path);
    expect(await branchTexts(store)).toEqual(['ask', 'block 1', 'block 2', 'block 3,block 4', 'thanks']);
    expect(await storedTexts(store)).toEqual(await branchTexts(store));
    expect((await importFrom(store, path)).sessions[0]?.action).toBe('unchanged');
  });

  test('is whole after an import that was cut short at any append, on a new and on a continued session', async () => {
    const lines = Array.from({ length: 250 }, (_, i) =>
      line(String(i + 1), i === 0 ? null : String(i), `m ${i + 1}`),
    );
    for (const isContinued of [false, true])
      for (const appends of [0, 1, 2, 3, 4]) {
        const path = sourceOf(...lines.slice(0, 20));
        const store = await freshStore();
        await importFrom(store, path);
        if (isContinued)
          await store.append('grows', [{ type: 'message', message: { role: 'user', content: 'here' } }]);
        const before = await branchTexts(store);
        appendFileSync(path, lines.slice(20).join(''));
        await importFrom(breakAfter(store, appends), path).catch(() => undefined);
        if (isContinued) expect(await branchTexts(store)).toEqual(before);
        await importFrom(store, path);
        const there = (await storedTexts(store)).filter((text) => text !== 'here');
        expect(there).toEqual(lines.map((_, i) => `m ${i + 1}`));
        if (isContinued) expect(await branchTexts(store)).toEqual(before);
      }
  });

  test('is written once by two imports at the same time', async () => {
    const lines = Array.from({ length: 250 }, (_, i) =>
      line(String(i + 1), i === 0 ? null : String(i), `m ${i + 1}`),
    );
    for (const isContinued of [false, true]) {
      const path = sourceOf(...lines.slice(0, 20));
      const store = await freshStore();
      await Promise.all([importFrom(store, path), importFrom(store, path)]);
      if (isContinued)
        await store.append('grows', [{ type: 'message', message: { role: 'user', content: 'here' } }]);
      appendFileSync(path, lines.slice(20).join(''));
      await Promise.all([1, 2, 3].map(() => importFrom(store, path)));
      const there = (await storedTexts(store)).filter((text) => text !== 'here');
      expect(there).toEqual(lines.map((_, i) => `m ${i + 1}`));
    }
  });
});

test('another conversation with the id of an imported one is another session', async () => {
  const store = await freshStore();
  const other = sourceOf(line('1', null, 'something else'));
  await importFrom(store, sourceOf(line('1', null, 'hello')));
  await importFrom(store, other);
  appendFileSync(other, line('2', '1', 'and more'));
  expect((await importFrom(store, other)).sessions[0]?.action).toBe('grown');
  expect((await everySession(store)).length).toBe(2);
  expect(await storedTexts(store)).toEqual(['hello']);
});
