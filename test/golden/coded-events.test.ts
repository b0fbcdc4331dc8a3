import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { causeText, messageText } from '../../src/messages/english.ts';
import { isMessage } from '../../src/messages/message.ts';
import type { JsonObject } from '../../src/transcript/json.ts';

const RECORDED = join(import.meta.dirname, 'recorded');

function recordedEvents(): JsonObject[] {
  const files = readdirSync(RECORDED, { recursive: true, encoding: 'utf8' });
  return files
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(RECORDED, name), 'utf8').trimEnd().split('\n'))
    .map((line) => JSON.parse(line) as JsonObject)
    .filter((line) => 'event' in line);
}

/** The English text of the cause of an event; undefined: the event has none. */
function causeOf({ type, reason, message }: JsonObject): unknown {
  if (type === 'compaction_failed') return message;
  return type === 'retry' || type === 'overflow' ? reason : undefined;
}

test('every event of the golden scenarios that names a cause in English has it as a code too', () => {
  const events = recordedEvents();
  const caused = events.filter((event) => causeOf(event) !== undefined);
  expect([...new Set(caused.map(({ type }) => type))].sort()).toEqual(['overflow', 'retry']);
  for (const event of caused) {
    const { why } = event;
    if (!isMessage(why)) throw new Error(`no code: ${JSON.stringify(event)}`);
    expect(causeText(why)).toBe(causeOf(event));
  }
});

test('every error of the engine, and every usage line, has a code', () => {
  const events = recordedEvents();
  for (const { type, message, why, usageLine, usageMessage } of events) {
    if (type === 'error' && why !== undefined) expect(isMessage(why) && causeText(why)).toBe(message);
    if (usageLine !== undefined) expect(isMessage(usageMessage) && messageText(usageMessage)).toBe(usageLine);
  }
  const uncoded = events.filter(({ type, why }) => type === 'error' && why === undefined);
  // The script of that scenario gave this text to its model.
  expect(uncoded.map(({ code, message }) => `${code}: ${message}`)).toEqual([
    'MODEL_RATE_LIMITED: too many requests',
  ]);
});
