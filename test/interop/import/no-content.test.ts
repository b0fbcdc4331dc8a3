import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { everySession, freshFolder, freshStore, importFrom } from '../../support/store/interop-home.ts';

const at = '2026-01-01T00:00:00.000Z';
const lines = (...records: readonly object[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

function fileOf(name: string, text: string, folder: string = freshFolder()): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('an import never succeeds with nothing in it', () => {
  const record = { timestamp: at, parentId: null };
  test.each([
    [
      'messages whose content is missing',
      lines({ ...record, type: 'message', id: 'a', message: { role: 'user' } }),
      'contains 1 message, but no text or image that can be read',
    ],
    [
      'messages whose content is empty',
      lines({ ...record, type: 'message', id: 'a', message: { role: 'assistant', content: [] } }),
      'contains 1 message, but no text or image that can be read',
    ],
    [
      'a header alone',
      lines({ type: 'session', version: 3, id: 's', timestamp: at }),
      'contains no messages',
    ],
    [
      'items of an API with the content beside the type',
      lines({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'x' }] }),
      'not a transcript',
    ],
    [
      'records that share only their type with claw0',
      lines(
        { type: 'user', message: { role: 'user', content: 'x' }, ts: 1 },
        { type: 'tool_result', id: 'x' },
      ),
      'not a transcript',
    ],
  ])('%s', async (_, text, why) => {
    const path = fileOf('x.jsonl', text);
    const store = await freshStore();
    const refusal = await importFrom(store, path).then(
      ({ sessions }) => `${sessions[0]?.action} ${sessions[0]?.notes.join()}`,
      (error: Error) => `unreadable ${error.message}`,
    );
    expect(refusal).toMatch(/^unreadable /);
    expect(refusal).toContain(why);
    expect(await everySession(store)).toEqual([]);
  });

  test('messages without a time are imported, and the report says how many', async () => {
    const path = fileOf('x.jsonl', lines({ role: 'user', content: 'hello' }));
    const { sessions } = await importFrom(await freshStore(), path);
    expect(sessions[0]?.notes).toContain('1 messages have no time; they are dated 1970');
  });
});
