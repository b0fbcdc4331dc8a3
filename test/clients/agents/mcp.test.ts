import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Machine, messagesIn, spokenIn } from './support/agents.ts';
import { type FakeAnswer, FakeProvider, type FakeRequest } from './support/fake-provider.ts';

const REPRISE = join(import.meta.dirname, '../../../bin/reprise.cjs');
const SECRET_TOPIC = 'the zeppelin is painted green';

/** Calls the search tool under the name that the agent gave it, once. */
function searching(request: FakeRequest): FakeAnswer {
  if (messagesIn(request).at(-1)?.role === 'toolResult') return { text: 'I found it.' };
  const tools = JSON.stringify(request.body['tools'] ?? []);
  const namespace = /"type":"namespace","name":"(mcp__reprise)"/.exec(tools)?.[1];
  const name = /"name":"([^"]*sessions_search)"/.exec(tools)?.[1];
  if (name === undefined) return { text: 'There is no such tool.' };
  const call = { id: 'call_search_1', name, input: { query: 'zeppelin' } };
  return { text: 'I search.', calls: [namespace === undefined ? call : { ...call, namespace }] };
}

async function history(machine: Machine): Promise<void> {
  const line = (fields: object): string =>
    `${JSON.stringify({ timestamp: '2026-11-01T10:00:00.000Z', ...fields })}\n`;
  const header = { type: 'session', version: 3, id: 'past', cwd: machine.project };
  const message = {
    type: 'message',
    id: 'a1',
    parentId: null,
    message: { role: 'user', content: SECRET_TOPIC },
  };
  const answer = {
    type: 'message',
    id: 'a2',
    parentId: 'a1',
    message: { role: 'assistant', content: [{ type: 'text', text: 'noted' }] },
  };
  const file = join(machine.home, 'past.jsonl');
  writeFileSync(file, [header, message, answer].map(line).join(''));
  await machine.reprise('import', file, '--yes');
}

function expectFound(provider: FakeProvider): void {
  const said = provider.requests.map(spokenIn).find((text) => text.includes('result call_search_1'));
  expect(said).toContain('<quoted-history source="reprise">');
  expect(said).toContain(SECRET_TOPIC);
}

test('the real Claude Code searches the past through reprise mcp', async () => {
  await using provider = await FakeProvider.start();
  using machine = new Machine(provider);
  await history(machine);
  provider.answer = searching;
  const args = [REPRISE, 'mcp', '--home', join(machine.home, 'reprise')];
  const config = join(machine.home, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: { reprise: { command: process.execPath, args } } }));
  const more = [`--mcp-config=${config}`, '--strict-mcp-config', '--allowedTools=mcp__reprise'];
  await machine.ask('claude-code', 'what color is the zeppelin?', undefined, more);
  expectFound(provider);
});

test('the real Codex searches the past through reprise mcp', async () => {
  await using provider = await FakeProvider.start();
  using machine = new Machine(provider);
  await history(machine);
  provider.answer = searching;
  const args = JSON.stringify([REPRISE, 'mcp', '--home', join(machine.home, 'reprise')]);
  // Codex begins its turn before a server is ready, unless the server is required.
  const server = {
    command: JSON.stringify(process.execPath),
    args,
    required: 'true',
    startup_timeout_sec: '60',
  };
  const more = Object.entries(server).flatMap(([name, value]) => [
    '-c',
    `mcp_servers.reprise.${name}=${value}`,
  ]);
  await machine.ask('codex', 'what color is the zeppelin?', undefined, more);
  expectFound(provider);
});
