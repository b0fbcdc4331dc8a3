import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AGENTS, type AgentName, Machine, messagesIn, positionsOf, spokenIn } from './support/agents.ts';
import { type FakeAnswer, FakeProvider, type FakeRequest } from './support/fake-provider.ts';

const CALLS: Readonly<
  Record<AgentName, readonly { readonly name: string; readonly input: Record<string, unknown> }[]>
> = {
  'claude-code': [
    { name: 'Bash', input: { command: 'cat a.txt', description: 'read' } },
    { name: 'Bash', input: { command: 'cat b.txt', description: 'read' } },
  ],
  codex: [
    { name: 'exec_command', input: { cmd: 'cat a.txt' } },
    { name: 'exec_command', input: { cmd: 'cat b.txt' } },
  ],
  pi: [
    { name: 'bash', input: { command: 'cat a.txt' } },
    { name: 'bash', input: { command: 'cat b.txt' } },
  ],
};

function answering(agent: AgentName): (request: FakeRequest) => FakeAnswer {
  return (request) => {
    const messages = messagesIn(request);
    const last = messages.at(-1);
    if (last?.role === 'toolResult') return { text: 'It is an apple and a berry.' };
    const asked = JSON.stringify(last ?? '');
    if (!asked.includes('which fruits'))
      return { text: asked.includes('hello there') ? 'Hello, I am ready.' : 'Good.' };
    return { text: 'I look.', calls: CALLS[agent].map((call, i) => ({ id: `call_fruit_${i}`, ...call })) };
  };
}

/** What every agent must be sent of the conversation that `converse` held. */
const SPOKEN = [
  'hello there',
  'Hello, I am ready.',
  'which fruits are in the files?',
  'I look.',
  'call call_fruit_0',
  'cat a.txt',
  'call call_fruit_1',
  'cat b.txt',
  'result call_fruit_',
  'It is an apple and a berry.',
  'and now?',
];

/** Hello, then a resume with two parallel calls. @returns what the importer found. */
async function converse(machine: Machine, agent: AgentName): Promise<string> {
  await machine.ask(agent, 'hello there');
  // Its transcript begins with settings, by which an import does not recognize it when it has grown.
  const source =
    agent === 'pi' ? newestFile(`${machine.home}/${FOLDERS.pi}`) : await imported(machine, agent);
  await machine.ask(agent, 'which fruits are in the files?', source);
  return imported(machine, agent);
}

function newestFile(folder: string): string {
  const [file = ''] = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.jsonl'),
  );
  return join(folder, file);
}

const FOLDERS: Readonly<Record<AgentName, string>> = {
  'claude-code': '.claude/projects',
  codex: '.codex/sessions',
  pi: '.pi/agent/sessions',
};

async function imported(machine: Machine, agent: AgentName): Promise<string> {
  await machine.reprise('import', `${machine.home}/${FOLDERS[agent]}`, '--yes');
  const { data } = JSON.parse(await machine.reprise('ls', '--json')) as {
    readonly data: readonly { readonly id: string }[];
  };
  expect(data).toHaveLength(1);
  return data[0]?.id ?? '';
}

describe.each(AGENTS)('a session of the real %s', (agent) => {
  test('is imported, and continues in every agent with the same words, calls and results', async () => {
    await using provider = await FakeProvider.start();
    using machine = new Machine(provider);
    provider.answer = answering(agent);
    const id = await converse(machine, agent);
    const shown = await machine.reprise('show', id);
    expect(
      positionsOf(
        ['hello there', 'Hello, I am ready.', 'which fruits', 'It is an apple and a berry.'],
        shown,
      ),
    ).not.toContain(-1);
    for (const target of AGENTS) {
      const written = JSON.parse(await machine.reprise('resume', id, '--in', target, '--yes', '--json')) as {
        readonly id: string;
        readonly file: string;
      };
      provider.requests.length = 0;
      await machine.ask(target, 'and now?', target === 'pi' ? written.file : written.id);
      const said = spokenIn(provider.requests.find((request) => spokenIn(request).includes('and now?')));
      const at = positionsOf(SPOKEN, said);
      expect(at, `${agent} in ${target}:\n${said}`).not.toContain(-1);
      // Results of parallel calls arrive in the order in which they finish.
      expect(said, said).toMatch(/result call_fruit_0:.*?apple/s);
      expect(said, said).toMatch(/result call_fruit_1:.*?berry/s);
      expect(said.match(/result call_fruit/g), said).toHaveLength(2);
      expect(said.match(/hello there/g), said).toHaveLength(1);
    }
  });
});
