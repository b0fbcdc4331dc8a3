import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  resolveDefaultSessionStorePath,
  resolveSessionFilePath,
  resolveSessionTranscriptPath,
  resolveSessionTranscriptsDir,
} from '../../src/exports/store.ts';
import { JsonlHome } from '../support/store/jsonl-home.ts';

test('the paths of a home lead to the files that a store writes there', async () => {
  await using home = new JsonlHome();
  const at = { home: home.path };
  const store = await home.open();
  await store.create({ id: 's1', key: 'agent:main:main' });
  await store.create({ id: 's2', key: 'agent:second:main' });
  await home.close();
  for (const path of [
    resolveSessionTranscriptsDir(at),
    resolveSessionTranscriptsDir({ ...at, agentId: 'second' }),
    resolveDefaultSessionStorePath(at),
    resolveDefaultSessionStorePath({ ...at, agentId: 'second' }),
    resolveSessionTranscriptPath({ ...at, sessionId: 's1' }),
    resolveSessionTranscriptPath({ ...at, agentId: 'second', sessionId: 's2' }),
    resolveSessionFilePath({ ...at, sessionId: 's1' }),
  ])
    expect(existsSync(path), path).toBe(true);
});

test('the paths of a home are built from their arguments only', () => {
  expect(resolveSessionTranscriptsDir({ home: '/data' })).toBe(join('/data', 'agents', 'main', 'sessions'));
  expect(resolveDefaultSessionStorePath({ home: '/data', agentId: 'work' })).toBe(
    join('/data', 'agents', 'work', 'sessions', 'sessions.json'),
  );
});

test('an index entry leads to the file it names, and never out of the folder', () => {
  const at = { home: '/data', sessionId: 's1' };
  const folder = resolveSessionTranscriptsDir(at);
  const fileOf = (sessionFile: string): string => resolveSessionFilePath({ ...at, entry: { sessionFile } });
  expect(fileOf('s1-topic-42.jsonl')).toBe(join(folder, 's1-topic-42.jsonl'));
  expect(fileOf('/home/ada/.openclaw/agents/main/sessions/other.jsonl')).toBe(join(folder, 'other.jsonl'));
  expect(fileOf('../../../../etc/passwd')).toBe(join(folder, 's1.jsonl'));
  expect(resolveSessionFilePath({ ...at, entry: {} })).toBe(join(folder, 's1.jsonl'));
});

test.each(['../x', 'a/b', '', '..'])('an id %j is refused, because it is no file name', (id) => {
  const refused = expect.objectContaining({ code: 'INVALID_ID' });
  expect(() => resolveSessionTranscriptPath({ home: '/data', sessionId: id })).toThrow(refused);
  expect(() => resolveSessionTranscriptsDir({ home: '/data', agentId: id })).toThrow(refused);
});
