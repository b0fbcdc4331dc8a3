import fc from 'fast-check';
import type { JsonObject } from '../../../../src/exports/transcript.ts';
import type { Entry } from '../../../../src/index.ts';
import { type Body, messageBody, settingBody, summary } from './bodies.ts';
import { placeEntries, steps } from './trees.ts';

/**
 * Files as the versions of pi wrote them. v1: a plain list, without ids, compactions counting lines. v2: a tree,
 * extension messages under the role `hookMessage`. v3: that role is `custom`.
 */
export interface OldFile {
  readonly content: string;
  readonly classes: readonly string[];
}

const START = Date.UTC(2025, 0, 1);
const header = (fields: JsonObject): JsonObject => ({
  type: 'session',
  ...fields,
  id: '7a1c2b1e-0000-4000-8000-000000000001',
  timestamp: new Date(START).toISOString(),
  cwd: '/home/user/project',
});

/** What crashes and editors leave in a file, and every reader passes over. */
const noise = fc.record({ at: fc.nat(40), line: fc.constantFrom('{"type":"mess', '', '  ') });

const compactionV1: fc.Arbitrary<Body> = fc
  .record({ summary, index: fc.nat(25) })
  .map(({ summary, index }) => ({ word }) => ({
    type: 'compaction',
    summary: summary(word),
    firstKeptEntryIndex: index,
    tokensBefore: 1000,
  }));

export const filesV1: fc.Arbitrary<OldFile> = fc
  .record({
    bodies: fc.array(
      fc.oneof(
        { weight: 8, arbitrary: messageBody },
        { weight: 2, arbitrary: settingBody },
        { weight: 2, arbitrary: compactionV1 },
      ),
      { maxLength: 25, size: 'max' },
    ),
    noise: fc.option(noise),
  })
  .map(({ bodies, noise }) => {
    const records = bodies.map((body, i): JsonObject => {
      const { type, ...fields } = body({ id: '', word: `<w${i}>`, earlier: [], ancestors: [] });
      return withHookMessages({ type, timestamp: new Date(START + i * 1000).toISOString(), ...fields });
    });
    const head = header({ provider: 'anthropic', modelId: 'claude-a', thinkingLevel: 'high' });
    return file([head, ...records], noise);
  });

export const filesV2: fc.Arbitrary<OldFile> = fc
  .record({ steps, noise: fc.option(noise) })
  .map(({ steps, noise }) =>
    file([header({ version: 2 }), ...placeEntries(steps, idOf).map(withHookMessages)], noise),
  );

export const filesV3: fc.Arbitrary<OldFile> = fc
  .record({ steps, noise: fc.option(noise) })
  .map(({ steps, noise }) => file([header({ version: 3 }), ...placeEntries(steps, idOf)], noise));

function idOf(index: number): string {
  return (0xa1b2c3 + index).toString(16).padStart(8, '0');
}

function withHookMessages(record: Entry | JsonObject): JsonObject {
  const message = record['message'] as JsonObject | undefined;
  return message?.['role'] === 'custom'
    ? { ...record, message: { ...message, role: 'hookMessage' } }
    : record;
}

function file(records: readonly JsonObject[], noise: { at: number; line: string } | null): OldFile {
  const lines = records.map((record) => JSON.stringify(record));
  // The header stays the first line: without one, pi starts a new file.
  if (noise !== null) lines.splice(1 + (noise.at % lines.length), 0, noise.line);
  return { content: `${lines.join('\n')}\n`, classes: classesOf(records, noise !== null) };
}

function classesOf(records: readonly JsonObject[], noisy: boolean): string[] {
  const found = noisy ? ['noise'] : [];
  const json = JSON.stringify(records);
  if (json.includes('"role":"hookMessage"')) found.push('hook message');
  if (json.includes('"role":"custom"')) found.push('custom message');
  for (const [i, { type, firstKeptEntryIndex: index }] of records.entries()) {
    if (type === 'compaction') found.push('compaction');
    if (typeof index !== 'number') continue;
    if (index === 0) found.push('keeps from the header');
    else found.push(index < i ? 'keeps from a line before' : 'keeps from a line that is not before');
  }
  return [...new Set(found)];
}
