import { readFileSync, writeFileSync } from 'node:fs';
import { type SessionContext, SessionManager } from '@mariozechner/pi-coding-agent';
import { describe, expect, test } from 'vitest';
import {
  contentText,
  type ProjectedMessage,
  parseTranscript,
  project,
} from '../../../src/exports/transcript.ts';
import { ourContext, piContext } from './support/contexts.ts';
import { RICH_WORDS, richSession, SIGNATURE } from './support/rich-session.ts';
import { HEADER, SealedFile } from './support/sealed-file.ts';
import { openTempDir } from './support/temp-dir.ts';

const CWD = '/home/user/project';

function openRich(dir: ReturnType<typeof openTempDir>) {
  const { file, id } = richSession();
  const path = dir.file('session.jsonl');
  writeFileSync(path, file.text);
  return { file, id, path, pi: SessionManager.open(path, dir.path) };
}

describe('pi opens a file we wrote', () => {
  test('and stands where we stand, with the same conversation, model and thinking level', () => {
    using dir = openTempDir();
    const { file, pi } = openRich(dir);
    const { entries, sealed, issues } = parseTranscript(file.text);
    expect(sealed).toBe(true);
    expect([...issues.counts]).toEqual([]);
    const ours = ourContext(entries);
    expect(ours.words).toEqual(RICH_WORDS);
    expect(ours.model).toEqual({ provider: 'anthropic', modelId: 'claude-a' });
    expect(ours.thinkingLevel).toBe('low');
    expect(piContext(pi.buildSessionContext())).toEqual(ours);
  });

  test('and what we send to a model has the signatures, calls and results pi has', () => {
    using dir = openTempDir();
    const { file, pi } = openRich(dir);
    const target = { family: 'anthropic', provider: 'anthropic', model: 'claude-a' } as const;
    const { messages, notes } = project(parseTranscript(file.text).entries, { target });
    const sent = ourTools(messages);
    expect(sent).toHaveLength(5);
    expect(sent[0]).toBe(SIGNATURE);
    expect(sent).toEqual(piTools(pi.buildSessionContext()));
    expect(notes).toMatchObject({ syntheticResults: 0, orphanResults: 0, renamedCalls: 0, droppedCalls: 0 });
  });

  test('and goes to any entry of the tree to find the conversation we find there', () => {
    using dir = openTempDir();
    const { file, pi } = openRich(dir);
    const { entries } = parseTranscript(file.text);
    const seen = new Set<string>();
    for (const { id } of entries) {
      pi.branch(id);
      const ours = ourContext(entries, id);
      expect(piContext(pi.buildSessionContext()), id).toEqual(ours);
      seen.add(JSON.stringify(ours.contributions));
    }
    expect(entries.length).toBeGreaterThan(25);
    expect(seen.size).toBeGreaterThan(15);
  });

  test('and shows its id, its labels and its latest name, and lists it with them', async () => {
    using dir = openTempDir();
    const { pi, id, path } = openRich(dir);
    expect(pi.getSessionId()).toBe(HEADER['id']);
    expect(pi.getHeader()).toMatchObject({ ...HEADER, seal: { q: 1 } });
    expect(pi.getLabel(id.answer)).toBe('the cat');
    expect(pi.getLabel(id.question)).toBeUndefined();
    expect(pi.getSessionName()).toBe('The cat');
    const listed = await SessionManager.list(CWD, dir.path);
    expect(listed).toMatchObject([
      { path, id: HEADER['id'], name: 'The cat', firstMessage: '<w1> long ago' },
    ]);
  });

  test('and leaves every byte of it alone', () => {
    using dir = openTempDir();
    const { file, path, pi } = openRich(dir);
    pi.buildSessionContext();
    expect(readFileSync(path, 'utf8')).toBe(file.text);
  });

  test('and finds nothing but the empty beginning where we moved before the first entry', () => {
    using dir = openTempDir();
    const { file } = richSession();
    file.moveTo(null);
    writeFileSync(dir.file('session.jsonl'), file.text);
    const ours = ourContext(parseTranscript(file.text).entries);
    expect(ours).toEqual({ contributions: [], model: null, thinkingLevel: 'off', words: [] });
    const pi = SessionManager.open(dir.file('session.jsonl'), dir.path);
    expect(piContext(pi.buildSessionContext())).toEqual(ours);
  });
});

describe('our header', () => {
  test('is short enough for pi to find the session as the most recent one', () => {
    using dir = openTempDir();
    const { file, pi } = openRich(dir);
    expect(Buffer.byteLength(file.lines[0] ?? '')).toBeLessThan(512);
    expect(SessionManager.continueRecent(CWD, dir.path).getSessionId()).toBe(pi.getSessionId());
  });

  test('would hide the session from pi if it were longer: pi looks no further than 512 bytes', () => {
    using dir = openTempDir();
    const file = SealedFile.create({ ...HEADER, key: `agent:helper:${'x'.repeat(512)}` });
    file.message('user', 'hello');
    writeFileSync(dir.file('session.jsonl'), file.text);
    expect(SessionManager.continueRecent(CWD, dir.path).getSessionId()).not.toBe(HEADER['id']);
  });
});

/** Signatures, calls and results, in order. */
function ourTools(messages: readonly ProjectedMessage[]): unknown[] {
  const found: unknown[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      for (const { callId, text, isError } of message.results) found.push({ callId, text, isError });
    } else {
      for (const part of message.content) {
        if (part.type === 'thinking') found.push(part.signature);
        if (part.type === 'call') found.push({ id: part.id, input: part.input });
      }
    }
  }
  return found;
}

function piTools({ messages }: SessionContext): unknown[] {
  const found: unknown[] = [];
  for (const message of messages) {
    if (message.role === 'toolResult') {
      const { toolCallId: callId, content, isError } = message;
      found.push({ callId, text: contentText(content), isError });
    } else if (message.role === 'assistant') {
      for (const block of message.content) {
        if (block.type === 'thinking') found.push(block.thinkingSignature);
        if (block.type === 'toolCall') found.push({ id: block.id, input: block.arguments });
      }
    }
  }
  return found;
}
