import { createReadStream, writeFileSync } from 'node:fs';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { describe, expect, test } from 'vitest';
import { parseTranscript, readTranscript } from '../../../src/exports/transcript.ts';
import { ourContext, piContext } from './support/contexts.ts';
import { RICH_WORDS, richSession } from './support/rich-session.ts';
import { HEADER } from './support/sealed-file.ts';
import { openTempDir } from './support/temp-dir.ts';

describe('pi copies our lines, seals and all, into its own file', () => {
  test('forkFrom: read as a foreign file that says what ours says', async () => {
    using dir = openTempDir();
    const { file, id } = richSession();
    const source = dir.file('session.jsonl');
    writeFileSync(source, file.text);
    const pi = SessionManager.forkFrom(source, '/home/user/elsewhere', dir.file('forks'));

    const fork = await readTranscript(createReadStream(pi.getSessionFile() ?? ''));
    expect(fork.header).toMatchObject({ cwd: '/home/user/elsewhere', parentSession: source });
    expect(fork.header?.id).not.toBe(HEADER['id']);
    expect(fork.header?.seal).toBeUndefined();
    expect(fork.entries.every(({ seal }) => seal !== undefined)).toBe(true);
    expect(fork.sealed).toBe(false);
    expect([...fork.issues.counts]).toEqual([]);
    const ours = ourContext(fork.entries);
    expect(ours).toEqual(ourContext(parseTranscript(file.text).entries));
    expect(ours).toEqual(piContext(pi.buildSessionContext()));
    expect(pi.getLabel(id.answer)).toBe('the cat');
  });

  test.each(['leaf', 'plan', 'detour', 'compaction'] as const)(
    'createBranchedSession at the %s: the one branch, with its messages',
    async (name) => {
      using dir = openTempDir();
      const { file, id } = richSession();
      writeFileSync(dir.file('session.jsonl'), file.text);
      const pi = SessionManager.open(dir.file('session.jsonl'), dir.path);
      const branched = pi.createBranchedSession(id[name]) ?? '';

      const fork = await readTranscript(createReadStream(branched));
      expect(fork.sealed).toBe(false);
      expect([...fork.issues.counts]).toEqual([]);
      expect(fork.entries.some(({ seal }) => seal !== undefined)).toBe(true);
      const ours = ourContext(fork.entries);
      expect(ours).toEqual(ourContext(parseTranscript(file.text).entries, id[name]));
      expect(ours).toEqual(piContext(SessionManager.open(branched, dir.path).buildSessionContext()));
      expect(ours.words.length).toBeGreaterThan(3);
    },
  );

  test('and continues there: still the same conversation for both', async () => {
    using dir = openTempDir();
    const { file } = richSession();
    writeFileSync(dir.file('session.jsonl'), file.text);
    const pi = SessionManager.forkFrom(dir.file('session.jsonl'), '/home/user/elsewhere', dir.file('forks'));
    pi.appendMessage({ role: 'user', content: '<w20>', timestamp: 1735700000000 });

    const { entries } = await readTranscript(createReadStream(pi.getSessionFile() ?? ''));
    const ours = ourContext(entries);
    expect(ours.words).toEqual([...RICH_WORDS, '<w20>']);
    expect(ours).toEqual(piContext(pi.buildSessionContext()));
  });
});
