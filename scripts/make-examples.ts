/**
 * Writes examples/transcripts: the same conversation, one turn with two tool calls, as each tool would have
 * stored it, habits and all (claw0 saves calls twice, its classic form saves results first).
 * `npm run docs` runs it; a test checks that what is committed is what it writes.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { encodeLine, entryIdForSeq, type JsonObject } from '../src/exports/transcript.ts';

const START = Date.UTC(2025, 0, 1);
const at = (second: number): string => new Date(START + second * 1000).toISOString();

const QUESTION = 'Compare config.json with its backup.';
const PLAN = 'I will read both files.';
const ANSWER = 'They differ in one value: "retries" is 3 in config.json and 5 in the backup.';
const CALLS = [
  { id: 'toolu_01', name: 'read_file', input: { path: 'config.json' }, output: '{"retries": 3}' },
  { id: 'toolu_02', name: 'read_file', input: { path: 'config.bak.json' }, output: '{"retries": 5}' },
];

const toolUseBlocks = CALLS.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input }));

function claw0(): JsonObject[] {
  const ts = START / 1000;
  const pairs = CALLS.flatMap(({ id, name, input, output }) => [
    { type: 'tool_use', tool_use_id: id, name, input, ts: ts + 2 },
    { type: 'tool_result', tool_use_id: id, content: output, ts: ts + 2 },
  ]);
  return [
    { type: 'user', content: QUESTION, ts: ts + 1 },
    { type: 'assistant', content: [{ type: 'text', text: PLAN }, ...toolUseBlocks], ts: ts + 2 },
    ...pairs,
    { type: 'assistant', content: [{ type: 'text', text: ANSWER }], ts: ts + 3 },
  ];
}

function claw0Classic(): JsonObject[] {
  return [
    { type: 'session', id: 'abc123def456', key: 'main:cli:user', created: at(0) },
    ...CALLS.map(({ id, output }) => ({ type: 'tool_result', tool_use_id: id, output, ts: at(2) })),
    { type: 'user', content: QUESTION, ts: at(1) },
    { type: 'assistant', content: PLAN, ts: at(2) },
    ...CALLS.map(({ id, name, input }) => ({ type: 'tool_use', name, tool_use_id: id, input, ts: at(2) })),
    { type: 'assistant', content: ANSWER, ts: at(3) },
  ];
}

function zyhive(): JsonObject[] {
  const results = CALLS.map(({ id, output }) => ({ type: 'tool_result', tool_use_id: id, content: output }));
  const message = (role: string, content: unknown, second: number): JsonObject => ({
    type: 'message',
    message: { role, content },
    timestamp: START + second * 1000,
  });
  return [
    { type: 'session', version: 3, agentId: 'main', createdAt: START },
    message('user', QUESTION, 1),
    message('assistant', [{ type: 'text', text: PLAN }, ...toolUseBlocks], 2),
    message('user', results, 2),
    message('assistant', [{ type: 'text', text: ANSWER }], 3),
  ];
}

function zeroclaw(): JsonObject[] {
  const row = (id: number, role: string, content: string): JsonObject => ({
    id,
    session_id: 's-1',
    role,
    content,
    created_at: at(id).replace('T', ' ').slice(0, 19),
    meta_json: null,
  });
  // ZeroClaw stores no tools: only what was asked and what was answered.
  return [row(1, 'user', QUESTION), row(2, 'assistant', ANSWER)];
}

/** The messages of the turn as v3 stores them. */
function v3Messages(): JsonObject[] {
  const model = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-sonnet-4-5' };
  const calls = CALLS.map(({ id, name, input }) => ({ type: 'toolCall', id, name, arguments: input }));
  return [
    { role: 'user', content: QUESTION },
    { role: 'assistant', content: [{ type: 'text', text: PLAN }, ...calls], ...model, stopReason: 'toolUse' },
    ...CALLS.map(({ id, name, output }) => ({
      role: 'toolResult',
      toolCallId: id,
      toolName: name,
      content: [{ type: 'text', text: output }],
      isError: false,
    })),
    { role: 'assistant', content: [{ type: 'text', text: ANSWER }], ...model, stopReason: 'stop' },
  ];
}

function piV1(): JsonObject[] {
  const messages = v3Messages().map((message, i) => ({ type: 'message', timestamp: at(i + 1), message }));
  return [{ type: 'session', id: '5f0c-pi-v1', timestamp: at(0), cwd: '/project' }, ...messages];
}

function reprise(): string {
  const id = '01941f29-7c00-7000-8000-000000000001';
  const header = {
    type: 'session',
    version: 3,
    id,
    timestamp: at(0),
    cwd: '/project',
    agentId: 'main',
    key: 'agent:main:main',
  };
  const entries = v3Messages().map((message, i) => ({
    type: 'message',
    id: entryIdForSeq(i + 2),
    parentId: i === 0 ? null : entryIdForSeq(i + 1),
    timestamp: at(i + 1),
    message,
  }));
  return [header, ...entries].map((record, i) => encodeLine(record, { q: i + 1, e: 1, b: '1/1' })).join('');
}

const asLines = (records: readonly JsonObject[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');

/** File name to content. */
export function exampleTranscripts(): ReadonlyMap<string, string> {
  return new Map([
    ['claw0.jsonl', asLines(claw0())],
    ['claw0-classic.jsonl', asLines(claw0Classic())],
    ['zyhive.jsonl', asLines(zyhive())],
    ['zeroclaw.jsonl', asLines(zeroclaw())],
    ['pi-v1.jsonl', asLines(piV1())],
    ['reprise.jsonl', reprise()],
  ]);
}

if (import.meta.main) {
  const folder = new URL('../examples/transcripts/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of exampleTranscripts()) writeFileSync(new URL(name, folder), content);
}
