import { describe, expect, test } from 'vitest';
import { isSessionId, normalizeAgentId, parseAgentId, parseSessionId } from '../../src/exports/keys.ts';
import { RepriseError } from '../../src/index.ts';

const NO_IDS = [
  '../x',
  '..%2f',
  '%252e%252e',
  '/etc/passwd',
  'a/b',
  '..\\x',
  'a\u0000b',
  '',
  '.',
  '..',
  'x'.repeat(300),
  '-x',
  '.x',
  'a\nb',
  'a\u202eb',
  ' a',
  'a ',
  'a:b',
  'ä',
  'a.',
  'con\r',
];

describe('T60 ids that are no ids', () => {
  test.each(NO_IDS)('%j is refused as an agent id and as a session id', (id) => {
    for (const parse of [parseAgentId, parseSessionId]) {
      let error: unknown;
      try {
        parse(id);
      } catch (caught) {
        error = caught;
      }
      expect(error).toBeInstanceOf(RepriseError);
      expect(error).toMatchObject({ code: 'INVALID_ID', httpStatus: 400, exitCode: 2, outcome: 'none' });
      // The message may be printed: nothing in it acts on a terminal.
      expect((error as Error).message).not.toMatch(/[\u0000-\u001f\u202e]/);
    }
  });

  test.each(NO_IDS)('%j, typed as an agent name, becomes a valid id', (name) => {
    expect(parseAgentId(normalizeAgentId(name))).toBe(normalizeAgentId(name));
  });
});

test('valid ids pass unchanged', () => {
  for (const id of ['main', 'agent-a', '0', '_x', 'x'.repeat(64)]) expect(parseAgentId(id)).toBe(id);
  for (const id of [
    '01941f29-7c00-7000-8000-000000000001',
    'ses-1708300000000',
    'A.b_c-9',
    'x'.repeat(128),
  ]) {
    expect(parseSessionId(id)).toBe(id);
    expect(isSessionId(id)).toBe(true);
  }
});

test('agent names are lower-cased, trimmed and cut as documented', () => {
  expect(normalizeAgentId('  My Agent! ')).toBe('my-agent');
  expect(normalizeAgentId('')).toBe('main');
  expect(normalizeAgentId('你好')).toBe('main');
  expect(normalizeAgentId('x'.repeat(80))).toHaveLength(64);
});
