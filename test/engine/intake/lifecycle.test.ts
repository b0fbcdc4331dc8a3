import { describe, expect, test } from 'vitest';
import { openChannels, telegram } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';

const HOUR = 3_600_000;

function handClock(start: string): { now: Date; readonly clock: () => Date } {
  const hand = { now: new Date(start), clock: () => hand.now };
  return hand;
}

describe('S8 a reset', () => {
  test('by /new keeps choices, forgets counters, links both sessions, and can be undone', async () => {
    const model = scripted(['noted', 'fresh', 'old again']);
    await using at = await openChannels(model);
    const old = await at.reprise.receive(telegram('the word is xyzzy'));
    await at.reprise.idle();
    const session = await at.reprise.session({ id: old.sessionId });
    await session.patch({ modelOverride: 'scripted', queueMode: 'queue' });
    const flushed = { memoryFlushAt: 1_700_000_000_000, memoryFlushCompactionCount: 2 };
    await at.reprise.store.patch(old.sessionId, { compactionCount: 3, ...flushed });
    const next = await at.reprise.receive(telegram('/new hello'));
    await at.reprise.idle();
    expect(next.sessionId).not.toBe(old.sessionId);
    const record = await at.reprise.store.get(next.sessionId);
    expect(record).toMatchObject({ parentId: old.sessionId, active: true });
    expect(record.settings).toMatchObject({ modelOverride: 'scripted', queueMode: 'queue' });
    for (const counted of ['compactionCount', ...Object.keys(flushed)])
      expect(record.settings[counted], counted).toBeUndefined();
    // Not a byte of the old history.
    expect(model.requests[1]?.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    ]);
    const before = await at.reprise.store.read(old.sessionId, { limit: 100 });
    expect(JSON.stringify(before.entries)).toContain(next.sessionId);
    expect((await at.reprise.store.get(old.sessionId)).status).toBe('open');

    const undone = [];
    for (let i = 0; i < 2; i++) undone.push((await at.reprise.receive(telegram('/undo'))).command?.text);
    expect(undone.join()).toContain('reset');
    const back = await at.reprise.receive(telegram('and now?'));
    await at.reprise.idle();
    expect(back.sessionId).toBe(old.sessionId);
    expect(JSON.stringify(model.requests[2])).toContain('xyzzy');
  });

  test('by the bare word starts an empty session', async () => {
    await using at = await openChannels(scripted(['one', 'two']));
    const first = await at.reprise.receive(telegram('a'));
    await at.reprise.idle();
    const reset = await at.reprise.receive(telegram('/RESET'));
    expect(reset.command?.text).toContain('new session');
    expect(reset.sessionId).not.toBe(first.sessionId);
    expect((await at.reprise.receive(telegram('b'))).sessionId).toBe(reset.sessionId);
    await at.reprise.idle();
  });

  test.each(['please /new', '/new-session', 'new', '/newer things'])('is not meant by "%s"', async (text) => {
    await using at = await openChannels(scripted(['one', 'two']));
    const first = await at.reprise.receive(telegram('a'));
    const second = await at.reprise.receive(telegram(text));
    await at.reprise.idle();
    expect(second.sessionId).toBe(first.sessionId);
  });

  test('delivered twice happens once', async () => {
    await using at = await openChannels(scripted(['one']));
    const first = await at.reprise.receive(telegram('/new hello', { messageId: '1' }));
    const again = await at.reprise.receive(telegram('/new hello', { messageId: '1' }));
    expect(again).toEqual({ ...first, fresh: false });
    expect((await at.reprise.sessions()).sessions).toHaveLength(1);
    await at.reprise.idle();
  });

  test('happens at its hour every day, in the configured zone', async () => {
    const hand = handClock('2026-03-01T01:00:00Z');
    const session = { reset: { mode: 'daily', atHour: 4 }, timeZone: 'Asia/Tokyo' } as const; // 04:00 there is 19:00 UTC
    await using at = await openChannels(scripted(['1', '2', '3']), { clock: hand.clock, session });
    const ids = [];
    for (const hours of [0, 17, 2]) {
      hand.now = new Date(hand.now.getTime() + hours * HOUR);
      ids.push((await at.reprise.receive(telegram(`+${hours}`))).sessionId);
      await at.reprise.idle();
    }
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
    expect(await at.reprise.store.get(ids[2] ?? '')).toMatchObject({ parentId: ids[0] });
  });

  test('happens after so many minutes without a message; events do not count', async () => {
    const hand = handClock('2026-03-01T12:00:00Z');
    const session = { reset: { mode: 'idle', idleMinutes: 60 } } as const;
    await using at = await openChannels(scripted(['1', '2', '3', '4']), { clock: hand.clock, session });
    const pass = (minutes: number): void => {
      hand.now = new Date(hand.now.getTime() + minutes * 60_000);
    };
    const first = await at.reprise.receive(telegram('a'));
    await at.reprise.idle();
    pass(50);
    const second = await at.reprise.receive(telegram('b'));
    await at.reprise.idle();
    expect(second.sessionId).toBe(first.sessionId);
    pass(50);
    const event = await at.reprise.receive(telegram('a door opened', { system: true }));
    await at.reprise.idle();
    expect(event.sessionId).toBe(first.sessionId);
    pass(50);
    expect((await at.reprise.receive(telegram('c'))).sessionId).not.toBe(first.sessionId);
    await at.reprise.idle();
  });

  test('is decided by the channel before the kind of chat, and by default never happens', async () => {
    const hand = handClock('2026-03-01T12:00:00Z');
    const idle = { mode: 'idle', idleMinutes: 1 } as const;
    const session = { resetByType: { group: idle }, resetByChannel: { slack: { mode: 'none' } } } as const;
    await using at = await openChannels(scripted([...'12345678']), { clock: hand.clock, session });
    const places = [
      telegram('x'),
      telegram('x', { peer: 'g', peerKind: 'group' }),
      telegram('x', { channel: 'slack', peer: 'g', peerKind: 'group' }),
    ];
    const ids = [];
    for (let round = 0; round < 2; round++) {
      for (const place of places) ids.push((await at.reprise.receive(place)).sessionId);
      await at.reprise.idle();
      hand.now = new Date(hand.now.getTime() + HOUR);
    }
    expect(ids[3]).toBe(ids[0]);
    expect(ids[4]).not.toBe(ids[1]);
    expect(ids[5]).toBe(ids[2]);
  });
});
