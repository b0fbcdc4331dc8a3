import { describe, expect, test } from 'vitest';
import { checkSendPolicy, type SendPolicy, sendAllowed } from '../../../src/engine/intake/send-policy.ts';

const GROUP = 'agent:main:telegram:group:7';
const rules: SendPolicy = {
  rules: [
    { action: 'allow', match: { channel: 'telegram' } },
    { action: 'deny', match: { channel: 'telegram', chatType: 'group' } },
    { action: 'deny', match: { keyPrefix: 'agent:quiet:' } },
  ],
};
const may = (sessionKey: string, more: Partial<Parameters<typeof sendAllowed>[0]> = {}): boolean =>
  sendAllowed({ rules, settings: {}, sessionKey, ...more });

describe('where replies may be sent', () => {
  test('every channel, if there are no rules', () => {
    expect(sendAllowed({ settings: {}, sessionKey: GROUP })).toBe(true);
    expect(sendAllowed({ rules: {}, settings: {}, sessionKey: 'global' })).toBe(true);
  });

  test('any matching rule that denies wins over those that allow', () => {
    expect(may('agent:main:telegram:direct:bob')).toBe(true);
    expect(may(GROUP)).toBe(false);
    expect(may(`${GROUP}:thread:1`)).toBe(false);
    expect(may('agent:main:telegram:channel:7')).toBe(true);
    expect(may('agent:quiet:telegram:direct:bob')).toBe(false);
    expect(may('agent:quieter:telegram:direct:bob')).toBe(true);
  });

  test('the chat in the message counts before the chat in the key', () => {
    expect(may('agent:main:main', { channel: 'telegram', chatType: 'group' })).toBe(false);
    expect(may('agent:main:main', { channel: 'telegram' })).toBe(true);
    expect(may(GROUP, { channel: 'web' })).toBe(true);
  });

  test('with the default deny, only what a rule allows', () => {
    const closed: SendPolicy = { ...rules, default: 'deny' };
    expect(may('agent:main:telegram:direct:bob', { rules: closed })).toBe(true);
    expect(may('agent:main:discord:direct:bob', { rules: closed })).toBe(false);
    expect(may('agent:main:main', { rules: { default: 'deny', rules: [{ action: 'allow' }] } })).toBe(true);
  });

  test("a session's own policy decides, if it has one", () => {
    expect(may(GROUP, { settings: { sendPolicy: 'allow' } })).toBe(true);
    expect(may('agent:main:main', { settings: { sendPolicy: 'deny' } })).toBe(false);
    expect(may(GROUP, { settings: { sendPolicy: 'perhaps' } })).toBe(false);
  });

  const bad: readonly [unknown, string][] = [
    [{ default: 'no' }, 'sendPolicy.default'],
    [{ rule: [] }, 'sendPolicy.rule'],
    [{ rules: {} }, 'sendPolicy.rules'],
    [{ rules: [{ action: 'forbid' }] }, 'sendPolicy.rules[0].action'],
    [{ rules: [{ action: 'deny' }, { match: {} }] }, 'sendPolicy.rules[1].action'],
    [{ rules: [{ action: 'deny', match: { chattype: 'group' } }] }, 'sendPolicy.rules[0].match.chattype'],
    [{ rules: [{ action: 'deny', match: { chatType: 'dm' } }] }, 'sendPolicy.rules[0].match.chatType'],
    [{ rules: [{ action: 'deny', match: { keyPrefix: '' } }] }, 'sendPolicy.rules[0].match.keyPrefix'],
    [{ rules: [{ action: 'deny', match: 'group' }] }, 'sendPolicy.rules[0].match'],
  ];
  test.each(bad)('an invalid rule is refused before it allows anything: %j', (policy, field) => {
    const check = (): void => checkSendPolicy(policy as SendPolicy);
    expect(check).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
    expect(check).toThrow(expect.objectContaining({ details: expect.objectContaining({ field }) }));
  });

  test('good rules pass', () => {
    checkSendPolicy({});
    checkSendPolicy({ ...rules, default: 'allow' });
  });
});
