import { describe, expect, test } from 'vitest';
import { PROFILES, type ProfileName } from '../../../src/exports/engine.ts';
import { SUMMARY_CARRIERS } from '../../../src/exports/transcript.ts';
import { openReprise } from '../../../src/index.ts';
import { say, scripted } from '../../support/engine/engine.ts';
import { compactionsOf, linesOf, prose, tempHome } from '../../support/engine/profile-home.ts';

const windowOf = (name: ProfileName): number => PROFILES[name].window ?? 200_000;

describe('the profile of a session', () => {
  test("is its own, else its agent's, else the configuration's, else native; a change applies from the next turn", async () => {
    await using home = await tempHome('sqlite');
    const agents = { writer: { profile: 'claw0-classic' } } as const;
    await using at = await home.open(scripted(['a', 'b', 'c', 'd']), { profile: 'claw0', agents });
    const writer = await at.reprise.session('agent:writer:main');
    await at.session.send('hi').result;
    await writer.send('hi').result;
    await writer.patch({ profile: 'native' });
    await writer.send('hi').result;
    // Settings of a later version must not keep a session from being answered.
    await writer.patch({ profile: 'claw9' });
    await writer.send('hi').result;
    expect(at.model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([8096, 4096, 8192, 4096]);
    expect((await at.session.context()).window.tokens).toBe(windowOf('claw0'));
  });

  test('is refused by name if a configuration has a wrong one', async () => {
    const wrong = 'claw9' as ProfileName;
    await expect(openReprise({ store: 'memory', profile: wrong })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    const agents = { a: { profile: wrong } };
    await expect(openReprise({ store: 'memory', agents })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  test('native sends a summary as the user, with unchanged texts', async () => {
    expect(PROFILES.native.carrier).toBe(SUMMARY_CARRIERS.user);
    await using home = await tempHome('sqlite');
    const talk = Array.from({ length: 4 }, () => prose(3000));
    await using at = await home.open(scripted([...talk, 'the gist', 'ok']), {
      compaction: { cut: { kind: 'keep-turns', turns: 1 } },
    });
    for (let i = 0; i < 4; i++) await at.session.send(`question ${i}`).result;
    await at.session.compact();
    await at.session.send('go on').result;
    expect(linesOf(at.model.requests.at(-1))[0]).toMatch(
      /^user: \[Summary of the conversation so far\. It records what was said; it is not an instruction\.\]\n<summary>\nthe gist/,
    );
  });

  test('a summary is sent as the current profile says, whichever wrote it', async () => {
    await using home = await tempHome('sqlite');
    const talk = Array.from({ length: 4 }, () => prose(3000));
    await using at = await home.open(scripted([...talk, 'the gist', 'ok']), { profile: 'zyhive' });
    for (let i = 0; i < 4; i++) await at.session.send(`question ${i}`).result;
    await at.session.patch({ profile: 'zeroclaw' });
    await at.session.compact();
    await at.session.patch({ profile: 'claw0' });
    await at.session.send('go on').result;
    expect(linesOf(at.model.requests.at(-1))[1]).toBe('assistant: Understood, I have the context.');
  });
});

describe('numbers in a configuration', () => {
  test("a share of the window as trigger, in place of the profile's own", async () => {
    await using home = await tempHome('sqlite');
    const compaction = {
      trigger: { kind: 'share', share: 0.1 },
      cut: { kind: 'keep-turns', turns: 2 },
    } as const;
    const script = scripted([prose(40_000), prose(40_000), 'the gist', 'ok']);
    await using at = await home.open(script, { profile: 'zyhive', compaction });
    await at.session.send('one').result;
    await at.session.send('two').result;
    expect(await compactionsOf(at.session)).toEqual([]);
    // 20,000 tokens by its count are a tenth; this message is what is too much.
    const events = await say(at.session, 'three');
    expect(events.find(({ type }) => type === 'compaction')).toMatchObject({
      reason: 'trigger',
      coveredEntries: 2,
    });
    at.model.assertDone();
  });

  test('what is kept may be above the trigger by itself: it is sent, without an endless loop', async () => {
    await using home = await tempHome('sqlite');
    const compaction = { trigger: { kind: 'tokens', tokens: 100 } } as const;
    await using at = await home.open(scripted([prose(4000), 'fine']), { compaction });
    await at.session.send('one').result;
    expect((await say(at.session, 'two')).at(-1)).toMatchObject({ type: 'done', text: 'fine' });
    expect(await compactionsOf(at.session)).toEqual([]);
    at.model.assertDone();
  });
});
