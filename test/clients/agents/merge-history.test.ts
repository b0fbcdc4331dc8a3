import { expect, test } from 'vitest';
import { Reprise } from '../../../src/index.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { MergeFormat } from '../../../src/transcript/merge/read-messages.ts';
import { type AgentName, FORMATS, Machine, messagesIn } from './support/agents.ts';
import { type FakeAnswer, FakeProvider, type FakeRequest } from './support/fake-provider.ts';

const CALLS: Readonly<Record<AgentName, { readonly name: string; readonly input: Record<string, unknown> }>> =
  {
    'claude-code': { name: 'Bash', input: { command: 'cat a.txt', description: 'read' } },
    codex: { name: 'exec_command', input: { cmd: 'cat a.txt' } },
    pi: { name: 'bash', input: { command: 'cat a.txt' } },
  };

function answering(agent: AgentName): (request: FakeRequest) => FakeAnswer {
  return (request) => {
    const last = messagesIn(request).at(-1);
    if (last?.role === 'toolResult') return { text: 'An apple.' };
    if (!JSON.stringify(last ?? '').includes('read the file')) return { text: 'Fine.' };
    return { text: 'I look.', calls: [0, 1].map((i) => ({ id: `call_${i}`, ...CALLS[agent] })) };
  };
}

/** A resumed session, by the name that the agent printed or keeps. */
const CONTINUE: Readonly<Record<AgentName, readonly string[]>> = {
  'claude-code': ['--continue'],
  codex: [],
  pi: ['--continue'],
};

test.each(['claude-code', 'codex', 'pi'] as const)(
  'every request of %s merges into one session, each message once',
  async (agent) => {
    await using provider = await FakeProvider.start();
    using machine = new Machine(provider);
    provider.answer = answering(agent);
    for (const [turn, prompt] of ['hello there', 'read the file twice', 'thank you'].entries()) {
      const last = agent === 'codex' && turn > 0 ? '--last' : undefined;
      await machine.ask(agent, prompt, last, turn === 0 ? [] : CONTINUE[agent]);
    }
    const store = await openMemoryStore({});
    await using reprise = new Reprise({ store, model: createOfflineModel(), run: false });
    const { id } = await store.create({ key: 'agent:main:session:merged' });
    const outcomes: string[] = [];
    for (const request of provider.requests.filter((each) =>
      JSON.stringify(each.body).includes('hello there'),
    )) {
      const { format, messages } = historyOf(request);
      const { outcome } = await reprise.mergeHistory(id, messages, { format });
      outcomes.push(outcome);
      // The same request again, as after a lost connection.
      expect(await reprise.mergeHistory(id, messages, { format })).toMatchObject({
        outcome: 'unchanged',
        added: 0,
      });
    }
    expect(outcomes.length).toBeGreaterThanOrEqual(4);
    expect(
      outcomes.every((outcome) => outcome === 'appended'),
      outcomes.join(),
    ).toBe(true);
    const { entries } = await store.read(id, { limit: 1000 });
    const stored = entries.map(({ entry }) => JSON.stringify(entry)).join('\n');
    for (const said of [
      'hello there',
      'read the file twice',
      'thank you',
      '"toolCallId":"call_0"',
      '"toolCallId":"call_1"',
    ])
      expect(stored.split(said), said).toHaveLength(2);
  },
);

function historyOf({ path, body }: FakeRequest): {
  readonly format: MergeFormat;
  readonly messages: readonly unknown[];
} {
  const [, format = 'openai', field = ''] = FORMATS.find(([pattern]) => pattern.test(path)) ?? [];
  return { format, messages: body[field] as readonly unknown[] };
}

const SUMMARY =
  'The user said hello there and asked to read a file twice. It contains an apple. Nothing is left to do.';

test('a session that the real Claude Code compacted continues behind its summary', async () => {
  await using provider = await FakeProvider.start();
  using machine = new Machine(provider);
  provider.answer = (request) =>
    JSON.stringify(request.body).includes('create a detailed summary')
      ? { text: `<analysis>all of it</analysis>\n<summary>\n${SUMMARY}\n</summary>` }
      : answering('claude-code')(request);
  await machine.ask('claude-code', 'hello there');
  for (const prompt of ['read the file twice', '/compact', 'and what now?'])
    await machine.ask('claude-code', prompt, undefined, ['--continue']);
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel(), run: false });
  const { id } = await store.create({ key: 'agent:main:session:compacted' });
  const results = [];
  for (const request of provider.requests) {
    const { format, messages } = historyOf(request);
    if (messages === undefined) continue;
    results.push(await reprise.mergeHistory(id, messages, { format }));
    // A program between an agent and its provider has the answers too.
    const { text = '' } = provider.answer(request);
    if (text !== '')
      await reprise.mergeHistory(id, [...messages, { role: 'assistant', content: text }], { format });
  }
  const last = provider.requests.at(-1);
  expect(JSON.stringify(last?.body)).toContain(SUMMARY);
  expect(results.at(-1)).toMatchObject({ isCompacted: true });
  // The file of the agent has the same compaction, and another agent starts with it.
  await machine.reprise('import', `${machine.home}/.claude/projects`, '--yes');
  const written = JSON.parse(
    await machine.reprise('resume', '@last', '--in', 'codex', '--yes', '--json'),
  ) as {
    readonly id: string;
  };
  await machine.ask('codex', 'go on', written.id);
  const asked = JSON.stringify(provider.requests.at(-1)?.body);
  expect(asked).toContain(SUMMARY);
  expect(asked).toContain('and what now?');
  expect(asked).not.toContain('read the file twice"');
});
