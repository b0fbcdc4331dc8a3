import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  buildGroupHistoryKey,
  formatSessionKey,
  isAcpSessionKey,
  isSubagentSessionKey,
  normalizeSessionKey,
  parseAgentSessionKey,
  parseSessionKey,
  resolveThreadParentSessionKey,
  type SessionKeyParts,
} from '../../src/exports/keys.ts';
import { RepriseError } from '../../src/index.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const LITERALS = [
  'main',
  'direct',
  'group',
  'channel',
  'thread',
  'topic',
  'subagent',
  'session',
  'cron',
  'run',
  'agent',
  'global',
];
const HOSTILE = [
  ':',
  '/',
  '%',
  '%3A',
  '%u0041',
  '..',
  '~alice',
  ' ',
  '\u0000',
  '\ud800',
  '\udc00\ud800',
  '\u202e',
  '\u2028',
  '\u0085',
  '💬',
  'é',
  'É',
];

/** Ids that no person would choose and some program will send. */
const id = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...LITERALS) },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom(...LITERALS, ...HOSTILE, ':'), { minLength: 1, maxLength: 4 })
      .map((p) => p.join('')),
  },
);
const agentId = fc.stringMatching(/^[a-z0-9_][a-z0-9_-]{0,8}$/);
const threads = fc.array(fc.record({ marker: fc.constantFrom('thread' as const, 'topic' as const), id }), {
  maxLength: 2,
});

const parts: fc.Arbitrary<SessionKeyParts> = fc
  .tuple(
    agentId,
    threads,
    fc.oneof(
      id.map((mainKey) => ({ kind: 'main' as const, mainKey })),
      id.map((peer) => ({ kind: 'direct' as const, peer })),
      fc.record({ kind: fc.constant('direct' as const), peer: id, channel: id }),
      fc.record({ kind: fc.constant('direct' as const), peer: id, channel: id, account: id }),
      fc.record({ kind: fc.constantFrom('group' as const, 'channel' as const), channel: id, id }),
      fc.record({
        kind: fc.constantFrom('subagent' as const, 'session' as const, 'hook' as const, 'acp' as const),
        id,
      }),
      fc.record({ kind: fc.constant('cron' as const), job: id }),
      fc.record({ kind: fc.constant('cron' as const), job: id, run: id }),
    ),
  )
  .map(
    ([agentId, threads, base]) =>
      ({ agentId, ...base, ...(threads.length > 0 && { threads }) }) as SessionKeyParts,
  );

describe('session keys', () => {
  test('I-1 read back as they were written, whatever the ids are', () => {
    fc.assert(
      fc.property(parts, (key) => {
        expect(parseSessionKey(formatSessionKey(key))).toEqual(key);
      }),
      { numRuns: 3000 },
    );
  });

  test('I-1 different conversations never share a key', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(parts, {
          minLength: 2,
          maxLength: 30,
          selector: (key) => JSON.stringify(sorted(key)),
        }),
        (keys) => {
          expect(new Set(keys.map(formatSessionKey)).size).toBe(keys.length);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('survive UTF-8 storage without merging two peers', () => {
    fc.assert(
      fc.property(parts, (key) => {
        const text = formatSessionKey(key);
        expect(Buffer.from(text).toString()).toBe(text);
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/);
      }),
    );
  });

  test.each([
    ['agent:main:main', { kind: 'main', agentId: 'main', mainKey: 'main' }],
    [
      'agent:main:telegram:group:123456',
      { kind: 'group', agentId: 'main', channel: 'telegram', id: '123456' },
    ],
    [
      'agent:main:discord:channel:general',
      { kind: 'channel', agentId: 'main', channel: 'discord', id: 'general' },
    ],
    ['agent:main:direct:bob', { kind: 'direct', agentId: 'main', peer: 'bob' }],
    [
      'agent:main:tg:acct:direct:Bob',
      { kind: 'direct', agentId: 'main', channel: 'tg', account: 'acct', peer: 'Bob' },
    ],
    ['agent:main:subagent:uuid-1', { kind: 'subagent', agentId: 'main', id: 'uuid-1' }],
    ['agent:main:cron:daily:run:7', { kind: 'cron', agentId: 'main', job: 'daily', run: '7' }],
    [
      'agent:main:main:thread:t1',
      { kind: 'main', agentId: 'main', mainKey: 'main', threads: [{ marker: 'thread', id: 't1' }] },
    ],
    ['agent:main:tg:dm:5', { kind: 'other', agentId: 'main', parts: ['tg', 'dm', '5'] }],
    ['global', { kind: 'global' }],
    ['main:cli:user', { kind: 'direct', agentId: 'main', channel: 'cli', peer: 'user' }],
  ])('%s is understood', (key, expected) => {
    expect(parseSessionKey(key)).toEqual(expected);
  });

  test('the three-part form means a direct chat', () => {
    expect(normalizeSessionKey('main:cli:user')).toBe('agent:main:cli:direct:user');
  });

  test.each([
    '',
    'agent',
    'agent:main',
    'agent:main:',
    'agent::main',
    'agent:Main:main',
    'agent:../x:main',
    'a:b',
    'a:b:c:d',
    'a::c',
    'agent:main:tg:direct:',
    'agent:main:tg:direct:a%',
    'agent:main:tg:direct:%41',
    'agent:main:tg:direct:%3a',
    'agent:main:tg:direct:a/b',
    'agent:main:direct',
    'agent:main:tg:direct:\ud800',
    'agent:main:%zz',
    `agent:main:tg:direct:${'x'.repeat(5000)}`,
  ])('%j is refused with a code', (key) => {
    expect(() => parseSessionKey(key)).toThrow(RepriseError);
  });

  test('a needless escape is refused with the spelling that counts', () => {
    expect(() => parseSessionKey('agent:main:tg:direct:%41')).toThrow('agent:main:tg:direct:A');
  });

  test('a channel called like a part of the grammar cannot pretend to be one', () => {
    const key = formatSessionKey({ kind: 'direct', agentId: 'main', channel: 'subagent', peer: 'x' });
    expect(isSubagentSessionKey(key)).toBe(false);
    expect(parseSessionKey(key)).toMatchObject({ kind: 'direct', channel: 'subagent' });
  });
});

describe('functions users know by name', () => {
  test('parseAgentSessionKey splits an agent key and answers null for anything else', () => {
    expect(parseAgentSessionKey('agent:main:telegram:group:1')).toEqual({
      agentId: 'main',
      rest: 'telegram:group:1',
    });
    for (const key of ['global', 'main:cli:user', 'agent:', 'agent:x', 'agent:x:', 'agent::y', ''])
      expect(parseAgentSessionKey(key)).toBeNull();
  });

  test('isSubagentSessionKey and isAcpSessionKey look at the place, not at the word', () => {
    expect(isSubagentSessionKey('agent:main:subagent:1')).toBe(true);
    expect(isSubagentSessionKey('agent:subagent:main')).toBe(false);
    expect(isAcpSessionKey('agent:main:acp:1')).toBe(true);
    expect(isAcpSessionKey('agent:main:direct:acp')).toBe(false);
  });

  test('resolveThreadParentSessionKey takes the last marker off', () => {
    expect(resolveThreadParentSessionKey('agent:main:main:thread:1')).toBe('agent:main:main');
    expect(resolveThreadParentSessionKey('agent:main:tg:group:9:topic:1:thread:2')).toBe(
      'agent:main:tg:group:9:topic:1',
    );
    for (const key of ['agent:main:main', 'agent:main:direct:thread', 'agent:main:thread:1', 'global']) {
      expect(resolveThreadParentSessionKey(key)).toBeNull();
    }
  });

  test('the builders write the documented forms', () => {
    expect(buildAgentMainSessionKey({ agentId: 'main' })).toBe('agent:main:main');
    expect(buildAgentMainSessionKey({ agentId: 'a', mainKey: 'home' })).toBe('agent:a:home');
    const peer = { agentId: 'main', channel: 'telegram', account: 'work', peerId: 'Bob:1' } as const;
    const build = (dmScope: Parameters<typeof buildAgentPeerSessionKey>[0]['dmScope']): string =>
      buildAgentPeerSessionKey({ ...peer, peerKind: 'direct', ...(dmScope && { dmScope }) });
    expect(build(undefined)).toBe('agent:main:telegram:direct:Bob%3A1');
    expect(build('main')).toBe('agent:main:main');
    expect(build('per-peer')).toBe('agent:main:direct:Bob%3A1');
    expect(build('per-account-channel-peer')).toBe('agent:main:telegram:work:direct:Bob%3A1');
    expect(buildAgentPeerSessionKey({ ...peer, peerKind: 'group' })).toBe(
      'agent:main:telegram:group:Bob%3A1',
    );
    expect(
      buildGroupHistoryKey({ channel: 'telegram', accountId: 'work', peerKind: 'group', peerId: '1' }),
    ).toBe('telegram:work:group:1');
  });
});

function sorted(key: SessionKeyParts): unknown {
  return Object.entries(key).sort(([a], [b]) => (a < b ? -1 : 1));
}
