// @module-tag scaled
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTranscript, rebuildHistory } from '../../src/exports/transcript.ts';
import { type Entry, RepriseError } from '../../src/index.ts';
import { EntryList } from '../support/engine/entries.ts';
import { deepFreeze } from '../support/engine/freeze.ts';
import { CLASSES, histories, historyBytes, steps } from '../support/engine/histories.ts';
import { MODEL, promptOf, REQUEST_KINDS, request } from '../support/engine/requests.ts';

const RUNS = Number(process.env['REPRISE_HISTORY_RUNS'] ?? process.env['REPRISE_PROPERTY_RUNS'] ?? 150);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);

function read(bytes: Buffer): readonly Entry[] | undefined {
  try {
    return parseTranscript(bytes).entries;
  } catch (error) {
    // A file in which nothing is a record is refused by its code; anything else is a crash.
    if (error instanceof RepriseError && error.code === 'INVALID_INPUT') return undefined;
    throw error;
  }
}

const nextMessage = (entries: readonly Entry[]): Entry => ({
  type: 'message',
  id: 'next',
  parentId: entries.at(-1)?.id ?? null,
  timestamp: '2025-01-02T00:00:00.000Z',
  message: { role: 'user', content: 'Please go on.' },
});

describe('P4 any stored history', () => {
  test('becomes a request every provider accepts, the same bytes each time, and is left as it was', () => {
    const met = new Map<string, number>(CLASSES.map((name) => [name, 0]));
    let runs = 0;
    fc.assert(
      fc.property(histories, (history) => {
        runs++;
        for (const name of history.classes) met.set(name, (met.get(name) ?? 0) + 1);
        const bytes = historyBytes(history);
        const stored = read(bytes);
        if (stored === undefined) return;
        const before = JSON.stringify(stored);
        const entries = deepFreeze([...stored, nextMessage(stored)]);
        for (const kind of REQUEST_KINDS) {
          const messages = request(entries, kind);
          const again = request([...(read(bytes) ?? []), nextMessage(stored)], kind);
          expect(kind.validate(messages), kind.name).toEqual([]);
          expect(JSON.stringify(again)).toBe(JSON.stringify(messages));
          // As it stands, before the first message; only an empty history makes no request.
          const resumed = request(stored, kind);
          if (resumed.length > 0) expect(kind.validate(resumed), `${kind.name}, resumed`).toEqual([]);
        }
        expect(JSON.stringify(stored)).toBe(before);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    const table = [...met].map(([name, count]) => `${name}: ${((100 * count) / runs).toFixed(1)} %`);
    console.log(`${runs} histories by class: ${table.join(', ')}`);
    for (const [name, count] of met)
      expect(count / runs, `histories of class "${name}"`).toBeGreaterThan(0.02);
  });

  test('grows by appending: the prompt of one turn starts the prompt of the next', () => {
    let compared = 0;
    fc.assert(
      fc.property(steps, (all) => {
        const list = new EntryList();
        const requests: string[][] = [];
        for (const step of all) {
          if (step.kind === 'assistant') list.message(step.message);
          else if (step.kind === 'user') list.user(step.content);
          else if (step.kind === 'result') {
            const { callId, content, isError } = step;
            list.message({ role: 'toolResult', toolCallId: callId, toolName: 'read', content, isError });
          } else if (step.entry['type'] !== 'compaction' && step.entry['type'] !== 'context_edit') {
            const { type, ...fields } = step.entry;
            list.add(String(type), fields);
          }
          // A request leaves the house when a user has spoken.
          if (step.kind === 'user')
            requests.push(REQUEST_KINDS.map((kind) => promptOf(request(list.entries, kind))));
        }
        for (const [i, prompts] of requests.entries()) {
          for (const [k, kind] of REQUEST_KINDS.entries()) {
            const next = requests[i + 1]?.[k];
            if (next === undefined) continue;
            compared++;
            expect(next.startsWith(prompts[k] ?? ''), `${kind.name}, request ${i + 1}`).toBe(true);
          }
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(compared).toBeGreaterThan(RUNS);
  });
});

test('S11 over 50 turns with tools the serialised request of a turn is a byte prefix of the next', () => {
  const list = new EntryList();
  const sent: string[] = [];
  for (let turn = 0; turn < 50; turn++) {
    list.user(`question ${turn}`);
    const calls = Array.from({ length: turn % 3 }, (_, i) => ({
      type: 'toolCall',
      id: `toolu_${turn}_${i}`,
      name: 'read',
      arguments: { path: `file-${i}` },
    }));
    if (calls.length > 0) {
      list.assistant(
        [{ type: 'thinking', thinking: 'hm', thinkingSignature: `sig${turn}` }, 'looking', ...calls],
        {
          ...MODEL,
          api: 'anthropic-messages',
        },
      );
      for (const { id } of calls) list.result(id, `content of ${id}`);
    }
    for (const format of ['anthropic', 'openai', 'ai-sdk'] as const) {
      sent.push(JSON.stringify(rebuildHistory(list.entries, { format, target: MODEL })));
    }
    list.assistant([`answer ${turn} `], { ...MODEL, api: 'anthropic-messages' });
  }
  for (let i = 0; i + 3 < sent.length; i++) {
    const open = (sent[i] ?? '').slice(0, -1); // without the "]" of the list
    expect(sent[i + 3]?.startsWith(`${open},`), `request ${i}`).toBe(true);
  }
});
