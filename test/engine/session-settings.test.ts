import { describe, expect, test } from 'vitest';
import {
  FORGOTTEN_ON_RESET,
  groupActivationOf,
  queueSettings,
  reasoningLevelOf,
  responseUsageOf,
  type SessionSettings,
  thinkingLevelOf,
  verboseLevelOf,
} from '../../src/engine/session-settings.ts';
import { parseSettingsPatch } from '../../src/engine/settings-patch.ts';
import { openEngine, scripted } from '../support/engine/engine.ts';

/** Every field another system stores for a session that a caller may set. */
const ALL: SessionSettings = {
  model: 'anthropic:x',
  profile: 'claw0',
  systemPrompt: 'Be brief.',
  archived: true,
  systemSent: true,
  abortedLastRun: false,
  chatType: 'group',
  thinkingLevel: 'high',
  verboseLevel: 'full',
  reasoningLevel: 'stream',
  elevatedLevel: 'ask',
  ttsAuto: 'inbound',
  execHost: 'sandbox',
  execSecurity: 'allowlist',
  execAsk: 'on-miss',
  execNode: 'n1',
  providerOverride: 'anthropic',
  modelOverride: 'claude',
  authProfileOverride: 'work',
  authProfileOverrideSource: 'user',
  authProfileOverrideCompactionCount: 1,
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 3,
  contextTokens: 100_000,
  compactionCount: 4,
  memoryFlushAt: 1_700_000_000_000,
  memoryFlushCompactionCount: 3,
  groupActivation: 'always',
  groupActivationNeedsSystemIntro: true,
  groupId: '-100',
  subject: 'Family',
  groupChannel: '#general',
  space: 's',
  queueMode: 'steer+backlog',
  queueDebounceMs: 0,
  queueCap: 5,
  queueDrop: 'summarize',
  sendPolicy: 'deny',
  responseUsage: 'tokens',
  channel: 'telegram',
  label: 'trip',
  displayName: 'Family chat',
  origin: { provider: 'telegram', from: '7' },
  deliveryContext: { to: '7' },
  lastChannel: 'telegram',
  lastTo: '7',
  lastAccountId: 'a',
  lastThreadId: 9,
  skillsSnapshot: { prompt: 'p' },
  systemPromptReport: { chars: 1 },
  cliSessionIds: { claude: 'c' },
  claudeCliSessionId: 'c',
  lastHeartbeatText: 'still here',
  lastHeartbeatSentAt: 1_700_000_000_000,
};
const CARRIED_ONLY = [
  'depth',
  'forkedFrom',
  'importedFrom',
  'idleSince',
  'sessionId',
  'updatedAt',
  'sessionFile',
  'spawnedBy',
];
const FACTS = ['ownerId', 'agentId', 'seq', 'epoch', 'role', 'createdAt', 'id', 'sessionKey', 'status'];

test('a model has a name that cannot lead out of an address', () => {
  for (const model of ['openai:org/model:tag', 'qwen3:8b', 'claude-opus-5', 'GLM 4.5', '模型'])
    expect(parseSettingsPatch({ model })).toEqual({ model });
  for (const model of [
    '../x',
    'a/../b',
    'openai:../x',
    '/etc/x',
    'a/..',
    'a\nb',
    'a\u202eb',
    'x'.repeat(300),
  ])
    expect(() => parseSettingsPatch({ model }), model).toThrow(/the name of a model/);
});

describe('settings of a session', () => {
  test('every field another system stores is taken, kept and given back, and null takes it away', async () => {
    const model = scripted([]);
    await using at = await openEngine(model, { modelByName: () => model });
    expect((await at.session.patch({ ...ALL })).settings).toEqual(ALL);
    expect((await at.session.patch({ label: null, 'x-mine': { deep: [1] } })).settings).toMatchObject({
      'x-mine': { deep: [1] },
      queueMode: 'steer+backlog',
    });
    const { settings, label } = await at.session.record();
    expect([settings['label'], label]).toEqual([undefined, undefined]);
  });

  test.each([
    ['chatType', ['direct', 'group', 'channel']],
    ['authProfileOverrideSource', ['auto', 'user']],
    ['groupActivation', ['mention', 'always']],
    ['queueMode', ['steer', 'followup', 'collect', 'steer-backlog', 'steer+backlog', 'queue', 'interrupt']],
    ['queueDrop', ['old', 'new', 'summarize']],
    ['sendPolicy', ['allow', 'deny']],
    ['responseUsage', ['on', 'off', 'tokens', 'full']],
    ['lastThreadId', ['9', 9]],
  ])('%s takes each value that a SessionEntry has', (name, values) => {
    for (const value of values) expect(parseSettingsPatch({ [name]: value })).toEqual({ [name]: value });
  });

  test('T76 whose a session is and what happened in it cannot be set, nor taken away', async () => {
    await using at = await openEngine(scripted([]));
    for (const name of [...CARRIED_ONLY, ...FACTS]) {
      for (const value of ['x', 1, null]) {
        await expect(at.session.patch({ label: 'y', [name]: value }), name).rejects.toMatchObject({
          code: 'INVALID_INPUT',
          message: `${name} cannot be set`,
          details: { field: name },
        });
      }
    }
    expect((await at.session.record()).settings).toEqual({});
  });

  test.each([
    ['thinkingLvl', 'thinkingLevel'],
    ['queuemode', 'queueMode'],
    ['lable', 'label'],
    ['reponseUsage', 'responseUsage'],
    ['zebra', undefined],
    ['constructor', undefined],
  ])('the unknown name %s is refused, and the one that may be meant is %s', (name, suggestion) => {
    const parse = (): unknown => parseSettingsPatch({ [name]: 'off' });
    expect(parse).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    try {
      parse();
    } catch (error) {
      expect((error as { details: object }).details).toMatchObject({ field: name });
      expect((error as { details: { suggestion?: string } }).details.suggestion).toBe(suggestion);
    }
  });

  test.each([
    ['thinkingLevel', 'huge', 'off, minimal, low, medium, high'],
    ['queueCap', 0, 'at least 1'],
    ['queueCap', '5', 'whole number'],
    ['queueDebounceMs', -1, 'whole number'],
    ['contextTokens', 1.5, 'whole number'],
    ['archived', 'yes', 'true or false'],
    ['label', '', 'non-empty text'],
    ['origin', ['a'], 'an object'],
    ['cliSessionIds', { a: 1 }, 'each text'],
    ['memoryFlushAt', 'yesterday', 'ISO'],
    ['lastThreadId', {}, 'text or a whole number'],
  ])('%s = %j is refused, and told what is allowed', (field, value, allowed) => {
    expect(() => parseSettingsPatch({ [field]: value })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        details: expect.objectContaining({ field, allowed: expect.stringContaining(allowed) }),
      }),
    );
  });

  test('T65 a name that means something to JavaScript is only a name, and an unknown one', () => {
    const patch = JSON.parse('{"__proto__":{"isAdmin":true}}') as Record<string, unknown>;
    expect(() => parseSettingsPatch(patch)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    const kept = parseSettingsPatch(JSON.parse('{"origin":{"__proto__":{"isAdmin":true}}}'));
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    expect(JSON.stringify(kept)).toBe('{"origin":{"__proto__":{"isAdmin":true}}}');
  });

  test('the choices of people outlive a reset; facts about the old history do not', () => {
    const kept = Object.keys(ALL).filter((name) => !FORGOTTEN_ON_RESET.includes(name));
    for (const name of [
      'model',
      'modelOverride',
      'thinkingLevel',
      'queueMode',
      'sendPolicy',
      'groupActivation',
    ])
      expect(kept).toContain(name);
    for (const name of ['displayName', 'origin', 'lastTo', 'responseUsage', 'contextTokens', 'profile'])
      expect(kept).toContain(name);
    for (const name of ['compactionCount', 'memoryFlushAt', 'memoryFlushCompactionCount', 'systemPrompt'])
      expect(kept).not.toContain(name);
    for (const name of ['totalTokens', 'abortedLastRun', 'systemSent', 'claudeCliSessionId'])
      expect(kept).not.toContain(name);
    const known = new Set([...Object.keys(ALL), ...CARRIED_ONLY]);
    expect(FORGOTTEN_ON_RESET.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('readers of settings', () => {
  const defaults = { mode: 'steer', debounceMs: 1000, cap: 20, drop: 'summarize' } as const;

  test('a queue is what the session says, name by name, else what is configured', () => {
    expect(queueSettings({}, defaults)).toEqual(defaults);
    const own = { queueMode: 'steer+backlog', queueDebounceMs: 0, queueCap: 3, queueDrop: 'old' };
    expect(queueSettings(own, defaults)).toEqual({
      mode: 'steer-backlog',
      debounceMs: 0,
      cap: 3,
      drop: 'old',
    });
    expect(queueSettings({ queueMode: 'collect' }, defaults)).toEqual({ ...defaults, mode: 'collect' });
  });

  test('values of other systems that mean nothing here count as unset', () => {
    const odd = { queueMode: 'later', queueDebounceMs: '9', queueCap: 0, queueDrop: 7 };
    expect(queueSettings(odd, defaults)).toEqual(defaults);
    const levels = { thinkingLevel: 'ultra', verboseLevel: 1, reasoningLevel: {}, groupActivation: 'never' };
    expect(thinkingLevelOf(levels)).toBeUndefined();
    expect(verboseLevelOf(levels)).toBe('off');
    expect(reasoningLevelOf(levels)).toBe('off');
    expect(groupActivationOf(levels)).toBe('mention');
    expect(responseUsageOf({ responseUsage: true })).toBe('off');
  });

  test('values that mean something are answered', () => {
    expect(thinkingLevelOf(ALL as object as Record<string, unknown>)).toBe('high');
    expect(verboseLevelOf({ verboseLevel: 'on' })).toBe('on');
    expect(reasoningLevelOf({ reasoningLevel: 'stream' })).toBe('stream');
    expect(groupActivationOf({ groupActivation: 'always' })).toBe('always');
    expect(responseUsageOf({ responseUsage: 'full' })).toBe('full');
  });
});

describe('titles', () => {
  test('the first message, cut at 60 code points', async () => {
    await using at = await openEngine(scripted(['ok', 'ok']));
    await at.session.send(`${'🍑'.repeat(61)} and more`).result;
    expect((await at.session.record()).title).toBe('🍑'.repeat(60));
    await at.session.send('something else').result;
    expect((await at.session.record()).title).toBe('🍑'.repeat(60));
  });

  test('a title a person set is never replaced, whether set before or after', async () => {
    await using at = await openEngine(scripted(['ok', 'ok']));
    expect(await at.session.patch({ title: 'Trip to Rome', label: 'rome' })).toMatchObject({
      title: 'Trip to Rome',
      label: 'rome',
    });
    await at.session.send('hello').result;
    expect((await at.session.record()).title).toBe('Trip to Rome');
    await at.session.patch({ title: 'Trip to Paris' });
    await at.session.send('hello again').result;
    expect((await at.session.record()).title).toBe('Trip to Paris');
    await expect(at.session.patch({ title: ' ' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
