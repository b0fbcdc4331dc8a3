import { describe, expect, test } from 'vitest';
import { messageCount, run } from '../../support/engine/commands.ts';
import { KEY, openEngine, say, scripted } from '../../support/engine/engine.ts';

describe('commands about sessions', () => {
  test('/new keeps the old session and the choices of people, and no messages', async () => {
    await using at = await openEngine(scripted(['Hi.', 'Hello.']));
    await run(at, '/queue collect');
    await run(at, '/rename old one');
    await say(at.session, 'the secret is 7');
    const { sessionId = '' } = await run(at, '/new  my   project');
    expect(sessionId).not.toBe(at.session.id);
    expect(await at.reprise.store.get(sessionId)).toMatchObject({
      label: 'my project',
      parentId: at.session.id,
      active: true,
      sessionKey: KEY,
      settings: { queueMode: 'collect' },
    });
    const fresh = await at.reprise.session(KEY);
    expect(fresh.id).toBe(sessionId);
    await say(fresh, 'hello');
    expect(JSON.stringify(at.model.requests[1])).not.toContain('secret');
    expect(await messageCount(at.session)).toBe(2);
    const unnamed = await run({ ...at, session: fresh }, '/clear');
    expect(await at.reprise.store.get(unnamed.sessionId ?? '')).not.toHaveProperty('label');
  });

  test('a number names a line of the list that was printed last, whatever was sent since', async () => {
    await using at = await openEngine(scripted(['Hi.', 'Ho.']));
    const { sessionId: one = '' } = await run(at, '/new one');
    const { sessionId: two = '' } = await run(at, '/new two');
    expect(await run(at, '/switch 1')).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    expect((await run(at, '/switch 1')).text).toContain('No session 1: no list was printed here yet.');
    const { listed = [], text } = await run(at, '/sessions');
    expect(listed.slice(0, 2)).toEqual([two, one]);
    expect(text).toMatch(/^ {2}1 {2}just now +two .*\n {2}2 {2}just now +one /m);
    // The live order changes: the number still means the printed line.
    await say(await at.reprise.session({ id: one }), 'hello');
    expect((await run(at, '/switch 2', { listed })).sessionId).toBe(one);
    const yes = { listed, confirm: async () => true };
    expect((await run(at, '/delete 1', yes)).text).toContain('Moved "two"');
    expect((await run(at, '/switch 9', { listed })).text).toContain('the last list has 3');
    expect((await run(at, '/sessions one')).listed).toEqual([one]);
  });

  test('/switch takes the start of a label, title, id or key', async () => {
    await using at = await openEngine(scripted(['Hi.']));
    await say(at.session, 'plan the garden');
    const { sessionId: project = '' } = await run(at, '/new my-project');
    const { sessionId: other = '' } = await run(at, '/new my-other');
    const { sessionId: short = '' } = await run(at, '/new my');
    const to = async (ref: string) => (await run(at, `/switch ${ref}`)).sessionId;
    expect(await to('My-P')).toBe(project);
    expect(await to('my')).toBe(short);
    expect(await to('plan the')).toBe(at.session.id);
    expect(await to(other)).toBe(other);
    expect(await at.reprise.store.active(KEY)).toMatchObject({ id: other });
    const ambiguous = await run(at, '/switch my-');
    expect(ambiguous).toMatchObject({ code: 'AMBIGUOUS_REF' });
    expect(ambiguous).not.toHaveProperty('sessionId');
    expect(ambiguous.text).toContain(`${project}  my-project`);
    expect(ambiguous.text).toContain(`${other}  my-other`);
    expect(await run(at, '/switch nothing')).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    expect(await run(at, '/switch')).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test("/switch to a channel's session looks at it and leaves the channel where it was", async () => {
    await using at = await openEngine(scripted([]));
    const { store } = at.reprise;
    const key = 'agent:main:tg:direct:ann';
    const old = await store.create({ key, settings: { label: 'ann-old' } });
    const now = await store.create({ key, settings: { label: 'ann-now' } });
    await store.activate(key, now.id);
    expect((await run(at, '/switch ann-old')).sessionId).toBe(old.id);
    expect((await run(at, '/switch agent:main:tg:')).code).toBe('AMBIGUOUS_REF');
    expect((await run(at, `/switch ${key}`)).sessionId).toBe(now.id);
    expect(await store.active(key)).toMatchObject({ id: now.id });
  });

  test('/sessions marks the session it is asked in', async () => {
    await using at = await openEngine(scripted([]));
    await run(at, '/rename here');
    await run(at, '/new there');
    const marks = (await run(at, '/sessions')).text.match(/^ *\d+[* ] .*$/gm);
    expect(marks?.map((line) => /^(.) just now +(\w+)/.exec(line.trim().slice(1))?.slice(1)).sort()).toEqual([
      [' ', 'there'],
      ['*', 'here'],
    ]);
    expect((await run(at, '/sessions nowhere')).text).toBe('No session name contains "nowhere".');
  });

  test('/delete asks, and does nothing without a yes', async () => {
    await using at = await openEngine(scripted([]));
    const { store } = at.reprise;
    const asked: string[] = [];
    const confirm = (yes: boolean) => async (question: string) => {
      asked.push(question);
      return yes;
    };
    await run(at, '/rename mine');
    expect(await run(at, '/delete')).toMatchObject({ code: 'INVALID_INPUT' });
    expect((await run(at, '/delete', { confirm: confirm(false) })).text).toBe('Nothing was deleted.');
    expect(await store.get(at.session.id)).toMatchObject({ status: 'open' });
    const { sessionId = '', text } = await run(at, '/delete', { confirm: confirm(true) });
    expect(asked[1]).toContain('the current session "mine"');
    expect(text).toContain('to the trash');
    expect(await store.get(at.session.id)).toMatchObject({ status: 'deleted' });
    expect(await store.active(KEY)).toMatchObject({ id: sessionId });
    const here = { ...at, session: await at.reprise.session({ id: sessionId }) };
    expect(await run(here, '/switch mine')).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const { sessionId: second = '' } = await run(here, '/new second');
    expect(await run(here, '/delete second', { confirm: confirm(true) })).not.toHaveProperty('sessionId');
    expect(await store.get(second)).toMatchObject({ status: 'deleted' });
  });

  test('/fork continues in a copy up to a message; /search finds both', async () => {
    await using at = await openEngine(scripted(['Hi.', 'Done.']));
    await say(at.session, 'the fox is brown');
    await say(at.session, 'and quick');
    await at.session.patch({ label: 'foxes' });
    const { sessionId = '' } = await run(at, '/fork #2');
    const copy = await at.reprise.session({ id: sessionId });
    // A label names one session.
    expect((await at.session.record()).label).toBe('foxes');
    expect((await copy.record()).label).toBeUndefined();
    expect((await run({ ...at, session: copy }, '/history')).text).toMatch(/fox is brown[\s\S]*Hi\.$/);
    const found = (await run(at, '/search fox')).text;
    expect(found).toContain(at.session.id);
    expect(found).toContain(sessionId);
    // The same message has the same position in the session and in its fork.
    expect(found.match(/, #1; user/g)).toHaveLength(2);
    expect(found).toMatch(/--at '#1'$/m);
    expect((await run(at, '/search unicorn')).text).toBe('No message contains "unicorn".');
    expect(await run(at, '/fork nowhere')).toMatchObject({ code: 'NOT_FOUND' });
  });

  test('/export says which session goes to which file; /repair leaves a sound session alone', async () => {
    await using at = await openEngine(scripted(['Hi.']));
    await say(at.session, 'hello');
    expect(await run(at, '/export')).toMatchObject({
      text: '"hello", 2 messages.',
      save: { sessionId: at.session.id, name: `${at.session.id}.jsonl` },
    });
    expect((await run(at, '/export notes.md')).save?.name).toBe('notes.md');
    expect((await run(at, '/repair')).text).toBe('"hello" is not damaged.');
  });
});
