import { createReadStream, writeFileSync } from 'node:fs';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { describe, expect, test } from 'vitest';
import { parseTranscript, project, readTranscript } from '../../../src/exports/transcript.ts';
import { ourContext, piContext } from './support/contexts.ts';
import { SealedFile } from './support/sealed-file.ts';
import { openTempDir } from './support/temp-dir.ts';

function openInPi(dir: ReturnType<typeof openTempDir>, { text }: SealedFile): SessionManager {
  const path = dir.file('session.jsonl');
  writeFileSync(path, text);
  return SessionManager.open(path, dir.path);
}

describe('where we differ from pi on purpose', () => {
  test('a parent that is not in the file: pi forgets what was before, we keep it', async () => {
    using dir = openTempDir();
    const file = SealedFile.create();
    file.message('user', '<w1>');
    const model = { api: 'openai-completions', provider: 'openai', model: 'gpt-x' };
    const answer = file.message('assistant', [{ type: 'text', text: '<w2>' }], model);
    const pi = openInPi(dir, file);
    // pi chains through labels but leaves them out of its copy, so the copy lacks a link.
    pi.appendLabelChange(answer, 'here');
    const last = pi.appendMessage({ role: 'user', content: '<w3>', timestamp: 1735700000000 });
    expect(piContext(pi.buildSessionContext()).words).toEqual(['<w1>', '<w2>', '<w3>']);
    const branched = pi.createBranchedSession(last) ?? '';

    const copy = SessionManager.open(branched, dir.path).buildSessionContext();
    expect(piContext(copy).words).toEqual(['<w3>']);
    const { entries } = await readTranscript(createReadStream(branched));
    expect(ourContext(entries).words).toEqual(['<w1>', '<w2>', '<w3>']);
  });

  test('an empty summary: pi sends the frame around nothing, we send nothing', () => {
    using dir = openTempDir();
    const file = SealedFile.create();
    const kept = file.message('user', '<w1>');
    file.add('compaction', { summary: '', firstKeptEntryId: kept, tokensBefore: 10 });
    const { messages } = openInPi(dir, file).buildSessionContext();
    expect(messages.map(({ role }) => role)).toEqual(['compactionSummary', 'user']);
    const { entries } = parseTranscript(file.text);
    const sent = project(entries, { target: { family: 'anthropic' } }).messages;
    expect(sent).toEqual([{ role: 'user', content: [{ type: 'text', text: '<w1>' }] }]);
  });

  test('a context edit: pi does not know it and shows the entry as it was', () => {
    using dir = openTempDir();
    const file = SealedFile.create();
    const secret = file.message('user', '<w1> a secret');
    file.message('user', '<w2>');
    file.add('context_edit', { targetId: secret, replacement: null });
    expect(piContext(openInPi(dir, file).buildSessionContext()).words).toEqual(['<w1>', '<w2>']);
    expect(ourContext(parseTranscript(file.text).entries).words).toEqual(['<w2>']);
  });
});
