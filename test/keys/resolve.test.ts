import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { resolveBoundAgent, resolveSessionKey } from '../../src/exports/keys.ts';
import { RepriseError } from '../../src/index.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

describe('resolveSessionKey', () => {
  test.each([
    ['no channel at all is the owner', {}, 'agent:main:main'],
    ['the command line is the owner', { channel: 'cli', peer: 'me' }, 'agent:main:main'],
    [
      'a stranger on a channel has a session of their own',
      { channel: 'telegram', peer: 'Bob' },
      'agent:main:telegram:direct:Bob',
    ],
    [
      'a group is shared by its members',
      { channel: 'telegram', peer: '-100', peerKind: 'group' as const },
      'agent:main:telegram:group:-100',
    ],
    [
      'a channel is shared too',
      { channel: 'discord', peer: 'general', peerKind: 'channel' as const },
      'agent:main:discord:channel:general',
    ],
    [
      'a thread beats its group',
      { channel: 'tg', peer: 'g', peerKind: 'group' as const, thread: '7' },
      'agent:main:tg:group:g:thread:7',
    ],
    [
      'a topic keeps its word',
      { channel: 'tg', peer: 'g', peerKind: 'group' as const, thread: '7', threadMarker: 'topic' as const },
      'agent:main:tg:group:g:topic:7',
    ],
    [
      'a thread in a direct chat',
      { channel: 'tg', peer: 'Bob', thread: '7' },
      'agent:main:tg:direct:Bob:thread:7',
    ],
    [
      'an explicit key wins',
      { channel: 'tg', peer: 'Bob', sessionKey: 'work:cli:user' },
      'agent:work:cli:direct:user',
    ],
    ['an explicit agent wins', { agentId: 'work', channel: 'tg', peer: 'Bob' }, 'agent:work:tg:direct:Bob'],
  ])('%s', (_promise, inbound, key) => {
    expect(resolveSessionKey(inbound)).toBe(key);
  });

  test('dmScope decides which direct chats are one', () => {
    const inbound = { channel: 'tg', account: 'a', peer: 'Bob' };
    expect(resolveSessionKey(inbound, { dmScope: 'main' })).toBe('agent:main:main');
    expect(resolveSessionKey(inbound, { dmScope: 'per-peer' })).toBe('agent:main:direct:Bob');
    expect(resolveSessionKey(inbound, { dmScope: 'per-account-channel-peer' })).toBe(
      'agent:main:tg:a:direct:Bob',
    );
    expect(resolveSessionKey({ channel: 'tg', peer: 'Bob' }, { dmScope: 'per-account-channel-peer' })).toBe(
      'agent:main:tg:direct:Bob',
    );
    expect(resolveSessionKey(inbound, { scope: 'global' })).toBe('global');
  });

  test('peers that differ only in case are different people', () => {
    expect(resolveSessionKey({ channel: 'tg', peer: 'Bob' })).not.toBe(
      resolveSessionKey({ channel: 'tg', peer: 'bob' }),
    );
  });

  test('linked accounts are one person, and no other sender becomes that person', () => {
    const rules = { dmScope: 'per-peer', identityLinks: { alice: ['tg:1', 'discord:2'] } } as const;
    const key = (channel: string, peer: string): string => resolveSessionKey({ channel, peer }, rules);
    expect(key('tg', '1')).toBe('agent:main:direct:alice');
    expect(key('discord', '2')).toBe('agent:main:direct:alice');
    const others = [key('tg', 'alice'), key('tg', '~alice'), key('tg', '~~alice'), key('discord', '1')];
    expect(new Set([...others, 'agent:main:direct:alice']).size).toBe(5);
  });

  test('with links in force different peers of a channel still never share a key', () => {
    const peer = fc.oneof(
      fc.string({ minLength: 1, maxLength: 4 }),
      fc.constantFrom('alice', '~alice', '~~alice', '1'),
    );
    fc.assert(
      fc.property(peer, peer, (a, b) => {
        fc.pre(a !== b);
        const rules = { identityLinks: { alice: ['tg:1'] } };
        expect(resolveSessionKey({ channel: 'tg', peer: a }, rules)).not.toBe(
          resolveSessionKey({ channel: 'tg', peer: b }, rules),
        );
      }),
    );
  });

  test.each([
    [{ channel: 'tg' }],
    [{ channel: 'tg', peerKind: 'group' as const }],
    [{ channel: 'tg', peer: '' }],
    [{ agentId: '../x', channel: 'tg', peer: 'b' }],
    [{ sessionKey: 'nonsense' }],
  ])('%j is refused with a code', (inbound) => {
    expect(() => resolveSessionKey(inbound)).toThrow(RepriseError);
  });
});

test('the most specific binding names the agent: peer, guild, account, channel, default', () => {
  const bindings = [
    { agentId: 'by-channel', match: { channel: 'tg' } },
    { agentId: 'by-account', match: { channel: 'tg', account: 'work' } },
    { agentId: 'by-guild', match: { guild: 'g1' } },
    { agentId: 'by-peer', match: { channel: 'tg', peer: { kind: 'group' as const, id: 'p1' } } },
    { agentId: 'too-late', match: { channel: 'tg' } },
  ];
  const agent = (subject: Parameters<typeof resolveBoundAgent>[0]): string =>
    resolveBoundAgent(subject, { bindings, defaultAgent: 'fallback' });
  expect(agent({ channel: 'tg', account: 'work', guild: 'g1', peer: 'p1', peerKind: 'group' })).toBe(
    'by-peer',
  );
  expect(agent({ channel: 'tg', account: 'work', guild: 'g1', peer: 'p1' })).toBe('by-guild');
  expect(agent({ channel: 'tg', account: 'work' })).toBe('by-account');
  expect(agent({ channel: 'tg' })).toBe('by-channel');
  expect(agent({ channel: 'other' })).toBe('fallback');
  expect(resolveSessionKey({ channel: 'tg', account: 'work', peer: 'x' }, { bindings })).toBe(
    'agent:by-account:tg:direct:x',
  );
});
