import { appendFileSync, createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { SessionManager } from '@mariozechner/pi-coding-agent';
import { describe, expect, test } from 'vitest';
import { readTranscript, type Transcript } from '../../../src/exports/transcript.ts';
import { type NeutralContext, ourContext, piContext } from './support/contexts.ts';
import { RICH_WORDS, richSession } from './support/rich-session.ts';
import { SealedFile } from './support/sealed-file.ts';
import { openTempDir } from './support/temp-dir.ts';

type PiMessage = Parameters<SessionManager['appendMessage']>[0];

const NOW = 1735700000000;
const USAGE = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

const user = (content: string): PiMessage => ({ role: 'user', content, timestamp: NOW });
const assistant = (text: string, calls: readonly string[] = []): PiMessage => ({
  role: 'assistant',
  content: [
    { type: 'text', text },
    ...calls.map((id) => ({ type: 'toolCall' as const, id, name: 'read', arguments: { path: 'a' } })),
  ],
  api: 'openai-completions',
  provider: 'openai',
  model: 'gpt-x',
  usage: { ...USAGE, cost: COST },
  stopReason: calls.length > 0 ? 'toolUse' : 'stop',
  timestamp: NOW,
});
const toolResult = (toolCallId: string): PiMessage => ({
  role: 'toolResult',
  toolCallId,
  toolName: 'read',
  content: [{ type: 'text', text: 'contents' }],
  isError: false,
  timestamp: NOW,
});

interface Desk {
  readonly path: string;
  /** The file, opened again by pi. */
  pi(): SessionManager;
  read(): Promise<Transcript>;
}

function desk(dir: ReturnType<typeof openTempDir>, file: SealedFile): Desk {
  const path = dir.file('session.jsonl');
  writeFileSync(path, file.text);
  return {
    path,
    pi: () => SessionManager.open(path, dir.path),
    read: () => readTranscript(createReadStream(path)),
  };
}

/** Both sides open the file again; what they agree on. */
async function agreed({ pi, read }: Desk): Promise<NeutralContext> {
  const ours = ourContext((await read()).entries);
  expect(ours).toEqual(piContext(pi().buildSessionContext()));
  return ours;
}

function issueCounts({ issues }: Transcript): Record<string, number> {
  return Object.fromEntries(issues.counts);
}

describe('pi continues a file we wrote', () => {
  test('with a turn that calls a tool: our lines stay sealed, pi’s are counted as foreign', async () => {
    using dir = openTempDir();
    const { file } = richSession();
    const at = desk(dir, file);
    const pi = at.pi();
    pi.appendMessage(user('<w20>'));
    pi.appendMessage(assistant('<w21>', ['call_1']));
    pi.appendMessage(toolResult('call_1'));
    pi.appendMessage(assistant('<w22>'));

    const transcript = await at.read();
    expect(transcript).toMatchObject({ sealed: true, corruptAt: undefined });
    expect(issueCounts(transcript)).toEqual({ 'foreign-line': 4 });
    const ownLines = transcript.entries.filter(({ seal }) => seal !== undefined);
    expect(ownLines.map(({ seal }) => seal?.q)).toEqual(file.lines.slice(1).map((_, i) => i + 2));
    expect(readFileSync(at.path, 'utf8').startsWith(file.text)).toBe(true);

    const { words, model } = await agreed(at);
    expect(words).toEqual([...RICH_WORDS, '<w20>', '<w21>', '<w22>']);
    expect(model).toEqual({ provider: 'openai', modelId: 'gpt-x' });
  });

  test('with labels, a name, settings and extension entries, which pi lets become the leaf', async () => {
    using dir = openTempDir();
    const { file, id } = richSession();
    const at = desk(dir, file);
    const pi = at.pi();
    pi.appendLabelChange(id.plan, 'the plan');
    pi.appendMessage(user('<w20>'));
    pi.appendSessionInfo('Renamed in pi');
    pi.appendThinkingLevelChange('minimal');
    pi.appendModelChange('openai', 'gpt-y');
    pi.appendCustomEntry('todo-list', { items: [] });
    pi.appendCustomMessageEntry('hint', '<w21>', false);
    pi.appendLabelChange(id.answer, undefined);

    const { words, model, thinkingLevel } = await agreed(at);
    expect(words).toEqual([...RICH_WORDS, '<w20>', '<w21>']);
    expect(model).toEqual({ provider: 'openai', modelId: 'gpt-y' });
    expect(thinkingLevel).toBe('minimal');
    expect(issueCounts(await at.read())).toEqual({ 'foreign-line': 8 });
  });

  test('with a compaction that keeps from one of our entries', async () => {
    using dir = openTempDir();
    const { file, id } = richSession();
    const at = desk(dir, file);
    const pi = at.pi();
    pi.appendMessage(user('<w20>'));
    pi.appendCompaction('<w30> by pi', id.leaf, 12345);
    pi.appendMessage(user('<w31>'));
    expect((await agreed(at)).words).toEqual(['<w30>', '<w15>', '<w20>', '<w31>']);
  });

  test('on another branch, or with only a label after going there', async () => {
    using dir = openTempDir();
    const { file, id } = richSession();
    const at = desk(dir, file);
    const pi = at.pi();
    pi.branch(id.detour);
    pi.appendMessage(assistant('<w20>'));
    expect((await agreed(at)).words).toEqual(['<w4>', '<w3>', '<w5>', '<w6>', '<w7>', '<w8>', '<w20>']);
    pi.branch(id.answer);
    pi.appendLabelChange(id.answer, 'here again');
    expect((await agreed(at)).words).toEqual(['<w4>', '<w3>', '<w5>', '<w6>', '<w7>']);
    pi.branchWithSummary(id.question, '<w21> left behind');
    expect((await agreed(at)).words).toEqual(['<w4>', '<w3>', '<w5>', '<w21>']);
    pi.resetLeaf();
    pi.appendMessage(user('<w22> from the beginning'));
    expect((await agreed(at)).words).toEqual(['<w22>']);
    expect(await at.read()).toMatchObject({ sealed: true, corruptAt: undefined });
  });

  test('and we continue after pi, and pi after us', async () => {
    using dir = openTempDir();
    const { file, id } = richSession();
    const at = desk(dir, file);
    let words = RICH_WORDS;
    let { lastSeq } = file;
    for (let round = 0; round < 5; round++) {
      const pi = at.pi();
      pi.appendMessage(user(`<w${100 + round}>`));
      const ours = SealedFile.resume(lastSeq, pi.getLeafId() ?? '');
      ours.message('user', `<w${200 + round}>`);
      ours.add('label', { targetId: id.answer, label: `round ${round}` });
      appendFileSync(at.path, ours.text);
      lastSeq = ours.lastSeq;
      words = [...words, `<w${100 + round}>`, `<w${200 + round}>`];
      expect((await agreed(at)).words).toEqual(words);
      expect(at.pi().getLabel(id.answer)).toBe(`round ${round}`);
    }
    const transcript = await at.read();
    expect(issueCounts(transcript)).toEqual({ 'foreign-line': 5 });
    expect(transcript).toMatchObject({ sealed: true, corruptAt: undefined });
  });

  test('before any answer, when pi writes the whole file once more: no message appears twice', async () => {
    using dir = openTempDir();
    const file = SealedFile.create();
    file.append([
      { type: 'model_change', provider: 'openai', modelId: 'gpt-x' },
      { type: 'message', message: { role: 'user', content: '<w1> unanswered', timestamp: NOW } },
    ]);
    const at = desk(dir, file);
    const pi = at.pi();
    pi.appendMessage(user('<w2>'));
    pi.appendMessage(assistant('<w3>'));

    const transcript = await at.read();
    expect(issueCounts(transcript)).toEqual({ 'stale-line': 3, 'foreign-line': 2 });
    expect(transcript).toMatchObject({ sealed: true, corruptAt: undefined });
    expect((await agreed(at)).words).toEqual(['<w1>', '<w2>', '<w3>']);
  });
});
