import { encodeLine, entryIdForSeq, type JsonObject } from '../src/exports/transcript.ts';
import type { NewEntry } from '../src/store/port/store.ts';

/** Of a message as JSON, which is what a payload byte is counted by. */
export const MESSAGE_BYTES = 1024;
const NOW = 1_735_689_600_000;
const WORDS = 'some words of a conversation about code, plans and what to do next, ';

function userMessage(number: number): JsonObject {
  return padded((content) => ({ role: 'user', content, timestamp: NOW + number }), number);
}

function assistantMessage(number: number): JsonObject {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 1200, output: 80, cacheRead: 0, cacheWrite: 0, totalTokens: 1280, cost };
  return padded(
    (text) => ({
      role: 'assistant',
      content: [{ type: 'text', text }],
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'claude',
      usage,
      stopReason: 'stop',
      timestamp: NOW + number,
    }),
    number,
  );
}

/** Fills the text up until the message has its size. */
function padded(make: (text: string) => JsonObject, number: number): JsonObject {
  const start = `line ${number}: `;
  const room = MESSAGE_BYTES - JSON.stringify(make(start)).length;
  return make(start + WORDS.repeat(Math.ceil(room / WORDS.length)).slice(0, room));
}

const VARIANTS = 64;

/** A turn: one question and one answer. Made beforehand, so that neither arm pays for the making. */
const TURNS: readonly (readonly NewEntry[])[] = Array.from({ length: VARIANTS }, (_, i) => [
  { type: 'message', message: userMessage(i) },
  { type: 'message', message: assistantMessage(i) },
]);

let next = 0;

export function nextTurn(): readonly NewEntry[] {
  return TURNS[next++ % VARIANTS] ?? [];
}

/** The bytes that so many entries have in a transcript. */
export function transcriptBytes(entries: number): Buffer {
  const lines = Array.from({ length: entries }, (_, i) => {
    const message = i % 2 === 0 ? userMessage(i) : assistantMessage(i);
    const place = { id: entryIdForSeq(i + 2), parentId: entryIdForSeq(i + 1) };
    const record = { type: 'message', ...place, timestamp: '2025-01-01T00:00:00.000Z', message };
    return encodeLine(record, { q: i + 2, e: 0, b: `${(i % 2) + 1}/2` });
  });
  return Buffer.from(lines.join(''));
}

/** What any reader has to do at least: cut the bytes into lines and parse each. */
export function parseAll(bytes: Buffer): unknown[] {
  const out: unknown[] = [];
  let start = 0;
  for (let lf = bytes.indexOf(10); lf !== -1; lf = bytes.indexOf(10, start)) {
    out.push(JSON.parse(bytes.toString('utf8', start, lf)));
    start = lf + 1;
  }
  return out;
}
