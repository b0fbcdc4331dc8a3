import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { Answer } from '../../../src/models/answer.ts';
import type { Model, ModelEvent, ModelRequest } from '../../../src/models/model.ts';
import { complaintsOf } from './engine.ts';

/**
 * A model whose every answer follows from its request, so that a turn that is resumed elsewhere goes the same way. A
 * message says what is to be done in it, one round after the other: `m7 | safe unsafe | safe` calls two tools, then
 * one, then answers. The same call of the same message always has the same id.
 */
export function createPlannedModel(home: string): Model {
  const model: Model = {
    id: 'planned',
    provider: 'planned',
    api: 'planned',
    target: { family: 'anthropic', provider: 'planned', model: 'planned' },
    contextWindow: 200_000,
    stream,
  };

  async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent, void, undefined> {
    const { name, rounds, done } = readPlan(request);
    note(home, 'requests', { pid: process.pid, name, round: done, summary: isSummary(request) });
    for (const { message } of complaintsOf(request)) note(home, 'complaints', { name, round: done, message });
    const events = isSummary(request) ? summary(home) : answerTo(home, name, rounds, done);
    const answer = new Answer();
    let calls = 0;
    for await (const event of events) {
      if (event.type === 'tool_call') calls++;
      answer.take(event);
      yield event;
    }
    yield answer.finish(model, { stopReason: calls > 0 ? 'toolUse' : 'stop' });
  }
  return model;
}

/** What was done, where a killed process leaves it: a line each, written before anything else happens. */
function note(home: string, file: string, what: unknown): void {
  appendFileSync(join(home, `${file}.log`), `${JSON.stringify(what)}\n`);
}

/** Dies here and now, as often as the test lets it. */
export function dieAt(home: string, point: string): void {
  if (existsSync(join(home, `die-${point}`))) process.kill(process.pid, 'SIGKILL');
}

export function plannedTools(home: string): Tool[] {
  const tool = (name: string, { safe }: { readonly safe: boolean }): Tool => ({
    name,
    description: `A tool that is ${safe ? '' : 'not '}safe to run twice.`,
    inputSchema: { type: 'object' },
    safe,
    async run(_, { toolCallId }) {
      note(home, 'tools', { id: toolCallId, name });
      dieAt(home, `in-${name}`);
      await sleep(5);
      return `${name} ran`;
    },
  });
  return [tool('safe', { safe: true }), tool('unsafe', { safe: false })];
}

async function* answerTo(
  home: string,
  name: string,
  rounds: readonly string[][],
  done: number,
): AsyncGenerator<ModelEvent, void, undefined> {
  const round = rounds[done];
  if (round?.includes('wait')) await until(() => existsSync(join(home, 'go')));
  if (name.startsWith('deadly')) dieAt(home, 'in-model');
  for (const text of [`answer ${done}`, ` to `, name]) {
    await sleep(3);
    yield { type: 'text_delta', block: 0, text };
  }
  const tools = (round ?? []).filter((word) => word !== 'wait');
  for (const [i, tool] of tools.entries())
    yield { type: 'tool_call', block: i + 1, id: `call_${name}_${done}_${i}`, name: tool, input: {} };
}

async function* summary(home: string): AsyncGenerator<ModelEvent, void, undefined> {
  await until(() => !existsSync(join(home, 'hold-summary')));
  dieAt(home, 'before-summary');
  yield { type: 'text_delta', block: 0, text: 'THE SUMMARY: ' };
  await sleep(3);
  dieAt(home, 'during-summary');
  yield { type: 'text_delta', block: 0, text: 'much was said.' };
}

function isSummary({ cache }: ModelRequest): boolean {
  return cache === 'off';
}

/** The last message of the user, and how many rounds of tools came after it. */
function readPlan({ messages }: ModelRequest): { name: string; rounds: string[][]; done: number } {
  let done = 0;
  for (const message of [...messages].reverse()) {
    if (message.role === 'tool') done++;
    if (message.role !== 'user') continue;
    const said = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    // Messages without an answer stand before it, in the same turn.
    const last = said.join('\n').split('\n').at(-1) ?? '';
    const [name = '', ...rounds] = last.split('|').map((part) => part.trim());
    return { name: name.split(' ')[0] ?? '', rounds: rounds.map((round) => round.split(' ')), done };
  }
  return { name: '', rounds: [], done };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(10);
}
