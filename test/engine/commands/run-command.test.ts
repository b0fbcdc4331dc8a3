import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../src/engine/commands/commands.ts';
import type { Session } from '../../../src/engine/session.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { messageCount, run } from '../../support/engine/commands.ts';
import { entriesOf, openEngine, say, scripted } from '../../support/engine/engine.ts';

const filler = 'because of the weather in the north '.repeat(300);

async function talk(session: Session, turns: number): Promise<void> {
  for (let i = 1; i <= turns; i++) await say(session, `note ${i}: ${filler}`);
}

describe('a command', () => {
  test('answers with text on every surface that has it, and with one clear line on those that do not', async () => {
    await using at = await openEngine(scripted([]));
    for (const { name, surfaces } of COMMANDS)
      for (const surface of ['repl', 'web', 'http', 'channel'] as const) {
        const { text, code } = await run(at, `/${name}`, { surface });
        expect(text, `${name} on ${surface}`).not.toBe('');
        expect(code === 'FORBIDDEN', `${name} on ${surface}`).toBe(!surfaces.includes(surface));
      }
    // /new, /delete and their like had nothing to do with a model.
    at.model.assertDone();
  });

  test('leaves no message behind', async () => {
    await using at = await openEngine(scripted(['Hi.']));
    await say(at.session, 'hello');
    for (const line of [
      '/context',
      '/compact',
      '/pin last',
      '/queue collect',
      '/rename x',
      '/history',
      '/tree',
    ])
      await run(at, line);
    expect(await messageCount(at.session)).toBe(2);
    expect(JSON.stringify(await entriesOf(at.session))).not.toMatch(/"\/\w/);
  });

  test('/help describes one command or all', async () => {
    await using at = await openEngine(scripted([]));
    expect((await run(at, '/help')).text).toContain('/queue [mode]');
    expect((await run(at, '/help /ls')).text).toBe(
      '/sessions [filter]: recent sessions; * marks the current one (also /list, /ls)',
    );
    expect((await run(at, '/help retry')).text).toMatch(/^\/retry: [^\n]+\nNot possible .*subagent result/);
    expect(await run(at, '/help sessions', { surface: 'channel' })).toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('/context', () => {
  test('fills as many of thirty cells as are full, as claw0 does', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 40_000 }));
    await talk(at.session, 4);
    const { tokens, window } = await at.session.context();
    const lines = (await run(at, '/context')).text.split('\n');
    const [usage = '', bar = ''] = lines;
    const used = lines.at(-1);
    expect(usage).toBe(`Context usage: ~${tokens.toLocaleString('en')} / 40,000 tokens`);
    const cells = Math.round((tokens / window.tokens) * 30);
    expect(cells).toBeGreaterThan(2);
    expect(bar).toMatch(/^\[#+-+\] \d+\.\d%$/);
    expect(bar.indexOf(']')).toBe(31);
    expect(bar.match(/#/g)).toHaveLength(cells);
    expect(lines.slice(2, -1).join('\n')).toContain('reserved for the answer');
    expect(used).toMatch(/^Used so far: [\d,]+ tokens in 4 turns$/);
  });
});

describe('/compact', () => {
  test('--dry-run says what it would do and does nothing', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 40_000 }));
    expect((await run(at, '/compact --dry-run')).text).toMatch(/^Nothing to compact yet: .*too few messages/);
    await talk(at.session, 6);
    const before = (await at.session.record()).lastSeq;
    expect((await run(at, '/compact --dry-run')).text).toMatch(
      /^Would compact \d+ entries \(~[\d,]+ tokens\)/,
    );
    expect((await at.session.record()).lastSeq).toBe(before);
    expect((await run(at, '/compact')).text).toMatch(/^Compacted: ~[\d,]+ -> ~[\d,]+ tokens\.$/);
  });

  test('undo brings the originals back and keeps every turn since, and redo takes that back', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 60_000 }));
    expect((await run(at, '/compact undo')).text).toBe('There is no compaction to undo.');
    await talk(at.session, 10);
    const whole = (await at.session.context()).split.history;
    await run(at, '/compact');
    expect((await at.session.context()).split.summary).toBeGreaterThan(0);
    await say(at.session, 'said after it');
    expect((await run(at, '/compact undo')).text).toContain('Undid the last compaction');
    const { split, messages } = await at.session.context();
    expect(split).toMatchObject({ summary: 0 });
    expect(split.history).toBeGreaterThan(whole);
    expect(messages).toBe(22);
    expect((await run(at, '/history 2')).text).toContain('said after it');
    expect((await run(at, '/compact undo')).text).toBe('There is no compaction to undo.');
    expect((await run(at, '/redo')).text).toBe('Redid the last compaction.');
    expect((await at.session.context()).split.summary).toBeGreaterThan(0);
  });

  test('undo says first when what comes back does not fit', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 16_000 }));
    await talk(at.session, 8);
    await say(at.session, 'short');
    await say(at.session, 'short again');
    expect(await run(at, '/compact undo')).toMatchObject({ code: 'CONTEXT_OVERFLOW' });
    expect((await at.session.context()).split.summary).toBeGreaterThan(0);
    expect((await run(at, '/compact undo anyway')).text).toContain('Undid');
  });
});

describe('going back', () => {
  test('/undo and /redo say what they did, and when there is nothing', async () => {
    await using at = await openEngine(scripted(['Hi.']));
    expect((await run(at, '/undo')).text).toBe('Nothing to undo.');
    await say(at.session, 'hello');
    expect((await run(at, '/undo')).text).toBe('Undid the last turn.');
    expect((await run(at, '/redo')).text).toBe('Redid the last turn.');
    expect((await run(at, '/redo')).text).toBe('Nothing to redo.');
  });

  test('/retry asks the same again, with its images and notes; the old answer stays as a branch', async () => {
    await using at = await openEngine(scripted(['Red.', 'Blue.']));
    expect(await run(at, '/retry')).toMatchObject({ code: 'NOT_FOUND' });
    const input = {
      text: 'which colour?',
      images: [{ data: Buffer.from('png').toString('base64'), mimeType: 'image/png' }],
      context: 'the house is blue',
    };
    await at.session.send(input).result;
    const { turn } = await run(at, '/retry');
    expect((await turn?.result)?.text).toBe('Blue.');
    expect(at.model.requests[1]).toEqual(at.model.requests[0]);
    const lines = (await run(at, '/tree')).text.split('\n');
    expect(lines.map((line) => line.replace(/\[.*\]/, '[]'))).toEqual([
      '├─  [] which colour? (1 message)',
      '└─* #1 which colour? (1 message)',
    ]);
    expect(JSON.stringify(await entriesOf(at.session))).toContain('Red.');
  });

  test('/edit says it in other words, and neither touches a compaction that came after', async () => {
    await using at = await openEngine(createOfflineModel({ contextWindow: 40_000 }));
    await talk(at.session, 6);
    expect(await run(at, '/edit')).toMatchObject({ code: 'INVALID_INPUT' });
    await (await run(at, '/edit note 6 was wrong')).turn?.result;
    expect((await run(at, '/history 2')).text).toMatch(/note 6 was wrong[\s\S]*assistant/);
    await run(at, '/compact');
    expect((await run(at, '/retry')).code).toBe('LEAF_MOVED');
    expect((await at.session.context()).split.summary).toBeGreaterThan(0);
  });

  test('/stop says whether something ran', async () => {
    await using at = await openEngine(createOfflineModel({ variant: 'slow' }));
    expect((await run(at, '/stop')).text).toBe('Nothing is running.');
    const turn = at.session.send('tell me who you are, at length');
    for await (const event of turn) {
      if (event.type !== 'text_delta') continue;
      expect((await run(at, '/stop')).text).toBe('Stopped. The partial answer is saved.');
      break;
    }
    await expect(turn.result).rejects.toMatchObject({ code: 'ABORTED' });
  });
});

describe('looking', () => {
  test('/history shows the last messages with the positions other commands take', async () => {
    await using at = await openEngine(scripted(['One.', 'Two.', 'Three.']));
    expect((await run(at, '/history')).text).toBe('No messages yet.');
    for (const text of ['a', 'b\nb', 'c']) await say(at.session, text);
    const lines = (await run(at, '/history 4')).text.split('\n');
    expect(lines).toEqual(['#3 user: b b', '#4 assistant: Two.', '#5 user: c', '#6 assistant: Three.']);
    expect((await run(at, '/pin #3')).text).toContain('#3 b b');
    expect((await run(at, '/pin')).text).toContain('#3 b b');
    expect((await run(at, '/unpin #3')).text).toContain('No pinned messages');
    const missing = await run(at, '/pin #7');
    expect(missing).toMatchObject({ code: 'NOT_FOUND' });
    expect(missing.text).toContain('No message #7: the current branch has messages #1 to #6.');
    // Ids still work.
    const first = (await at.session.history()).entries.find(({ entry }) => entry.type === 'message');
    expect((await run(at, `/pin ${String(first?.entry.id).slice(0, 6)}`)).text).toBe('Pinned:\n#1 a');
    for (const wrong of ['0', '-1', 'x', '1.5'])
      expect(await run(at, `/history ${wrong}`)).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('/history of a long conversation counts from its start', async () => {
    await using at = await openEngine(scripted([]));
    const { store } = at.reprise;
    const message = (i: number) => ({ type: 'message', message: { role: 'user', content: `line ${i}` } });
    for (let i = 0; i < 3; i++)
      await store.append(
        at.session.id,
        Array.from({ length: 500 }, (_, j) => message(i * 500 + j)),
      );
    expect((await run(at, '/history 2')).text).toBe('#1499 user: line 1498\n#1500 user: line 1499');
    const all = (await run(at, '/history 1200')).text.split('\n');
    expect(all).toHaveLength(1200);
    expect(all[0]).toBe('#301 user: line 300');
  });

  test('/explain proves what a turn was sent, by number or by the start of its id', async () => {
    await using at = await openEngine(scripted(['One.', 'Two.']));
    expect(await run(at, '/explain')).toMatchObject({ code: 'NOT_FOUND' });
    await say(at.session, 'a');
    await say(at.session, 'b');
    const last = (await run(at, '/explain')).text;
    expect(last).toContain('verified: the request rebuilt from the history has the same hash');
    expect(last).toContain('begins exactly like the previous request');
    const first = (await run(at, '/explain 1')).text;
    expect(first).toContain('no prompt cache: this is the first request');
    const [, id = ''] = /^Turn (\S+):/.exec(last) ?? [];
    expect((await run(at, `/explain ${id.slice(0, 13)}`)).text).toBe(last);
    expect(await run(at, '/explain 3')).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('/status says who, what and how full', async () => {
    await using at = await openEngine(scripted(['Hi.']));
    await say(at.session, 'plan the garden');
    await run(at, '/queue collect cap:5');
    const { text } = await run(at, '/status');
    expect(text).toMatch(/^plan the garden\n/);
    expect(text).toContain(at.session.id);
    expect(text).toContain('Queue: collect debounce:0.5s cap:5 drop:summarize; idle, 0 queued');
    expect(text).toContain('Context usage: ~');
    const accepted = { sessionKey: at.session.key, sessionId: at.session.id, source: 'test' };
    await at.reprise.store.inbox.receive({ ...accepted, body: { text: 'later' } });
    expect((await run(at, '/status')).text).toContain('idle, 1 queued');
    const rows = async () => [{ class: 'command', state: 'running' }, { state: 'running' }];
    const asking = async (pending: () => Promise<unknown[]>) => {
      const { store } = at.reprise;
      const inbox = { pending };
      const get = (_: typeof store, name: string | symbol): unknown => {
        const value: unknown = name === 'inbox' ? inbox : Reflect.get(store, name, store);
        return typeof value === 'function' ? value.bind(store) : value;
      };
      const { session, renew } = at.reprise;
      const reprise = {
        store: new Proxy(store, { get }),
        session: session.bind(at.reprise),
        renew: renew.bind(at.reprise),
      };
      return (await run(at, '/status', { reprise })).text;
    };
    expect(await asking(rows)).toContain('a turn is running');
    // The row of the command that asks is no turn.
    expect(await asking(async () => (await rows()).slice(0, 1))).toContain('idle, 0 queued');
  });
});

describe('settings', () => {
  test('/queue shows and sets; what is not understood changes nothing', async () => {
    await using at = await openEngine(scripted([]));
    expect((await run(at, '/queue')).text).toBe('Queue: steer debounce:0.5s cap:20 drop:summarize');
    expect((await run(at, '/queue Collect debounce:2s cap:25 drop:summarize')).text).toBe(
      'Queue: collect debounce:2s cap:25 drop:summarize',
    );
    expect((await at.session.record()).settings).toMatchObject({
      queueMode: 'collect',
      queueDebounceMs: 2000,
      queueCap: 25,
      queueDrop: 'summarize',
    });
    for (const wrong of [
      'followup cap:0',
      'steer debounce:soon',
      'interrupt drop:all',
      'nonsense',
      'cap:99999',
    ])
      expect(await run(at, `/queue ${wrong}`)).toMatchObject({ code: 'INVALID_INPUT' });
    expect((await run(at, '/queue')).text).toBe('Queue: collect debounce:2s cap:25 drop:summarize');
    for (const mode of [
      'steer',
      'followup',
      'queue',
      'collect',
      'steer-backlog',
      'steer+backlog',
      'interrupt',
    ])
      expect((await run(at, `/queue ${mode}`)).text).toContain(`Queue: ${mode.replace('+', '-')} `);
    expect((await run(at, '/queue default')).text).toBe('Queue: steer debounce:0.5s cap:20 drop:summarize');
  });

  test('/model chooses who answers; an unknown one changes nothing', async () => {
    const other = scripted(['I am the other.']);
    const modelByName = (name: string) => (name === 'other' ? other : undefined);
    await using at = await openEngine(scripted(['I am the first.']), { modelByName });
    expect((await run(at, '/model')).text).toBe('Model: scripted, configured for all agents');
    expect(await run(at, '/model other')).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await run(at, '/model nobody', { modelByName })).toMatchObject({ code: 'MODEL_UNKNOWN' });
    expect((await at.session.record()).settings).not.toHaveProperty('model');
    expect((await run(at, '/model other', { modelByName })).text).toBe(
      'Model: other, chosen for this session',
    );
    expect((await run(at, '/status')).text).toContain('Model: other, chosen for this session\n');
    expect((await at.session.send('who are you?').result).text).toBe('I am the other.');
    await run(at, '/model default', { modelByName });
    expect((await run(at, '/status')).text).toContain('Model: scripted, configured for all agents\n');
    expect((await at.session.send('who are you?').result).text).toBe('I am the first.');
  });
});
