import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactJson, redactText } from '../../src/transcript/redact/redact.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const BODY = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
const PEM = `-----BEGIN PRIVATE KEY-----\n${BODY}\n${BODY}==\n-----END PRIVATE KEY-----`;

/** The text, and the part of it that must be masked. */
const SECRETS: readonly (readonly [text: string, secret: string])[] = [
  ['my key is sk-ant-api03-AbCdEf123456_-xyz, keep it', 'AbCdEf123456_-xyz'],
  ['OPENAI_API_KEY=sk-proj-abc123def456', 'sk-proj-abc123def456'],
  ['sk-abcdefghijklmnopqrstuvwxyz', 'abcdefghijklmnopqrstuvwxyz'],
  ['{"log":"line\\nsk-live-1234567890"}', '1234567890'],
  ['export ANTHROPIC_API_KEY="quite-plain"', 'quite-plain'],
  ['Authorization: Bearer abc.def-123', 'abc.def-123'],
  ['authorization: Basic dXNlcjpwYXNz', 'dXNlcjpwYXNz'],
  ["headers: {'Authorization': 'Token letters'}", 'letters'],
  ['{"authorization":"Bearer shorty"}', 'shorty'],
  ['{\\"authorization\\":\\"Bearer shorty\\"}', 'shorty'],
  ['curl -H "Proxy-Authorization: Basic Zm9vOmJhcg=="', 'Zm9vOmJhcg=='],
  ['sent bearer 0123456789abcdef to it', '0123456789abcdef'],
  ['Cookie: sid=abc123; theme=dark', 'abc123; theme=dark'],
  ['Set-Cookie: sid=abc123; HttpOnly', 'abc123'],
  ['{"cookie":"sid=abc123"}', 'abc123'],
  ['postgres://ada:pa55word@db.example/x', 'pa55word'],
  ['redis://:onlypass@db.example', 'onlypass'],
  ['https://u:p@ss@host/path', 'p@ss'],
  ['GET /x?token=abc123def&y=1', 'abc123def'],
  ['https://h/?api_key=plain&a=b', 'plain'],
  ['password: hunter2', 'hunter2'],
  ['{"password":"two words"}', 'two words'],
  ['DB_PASSWORD=hunter2', 'hunter2'],
  ['REPRISE_TOKEN=0123456789abcdef', '0123456789abcdef'],
  ['{"accessToken":"0123456789abcdef"}', '0123456789abcdef'],
  ['client_secret=abcdef', 'abcdef'],
  ['ghp_abcdefghijklmnopqrstuvwxyz0123456789', 'abcdefghijklmnopqrstuvwxyz0123456789'],
  ['rk_live_abcdefgh12', 'abcdefgh12'],
  ['AIzaSyA-abcdefghijklmnopqrstuvwxyz0123', 'SyA-abcdefghijklmnopqrstuvwxyz0123'],
  ['xoxb-123456789012-abcdef', '123456789012-abcdef'],
  ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  [
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_123',
    'hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def_123',
  ],
  [PEM, BODY],
  [PEM.replaceAll('\n', '\\n'), BODY],
  [`-----BEGIN RSA PRIVATE KEY-----\n${BODY}\n${BODY} cut off`, BODY],
  [`${PEM}\n${PEM}`, BODY],
];

/** Words that look a little like a secret and are not. */
const PLAIN: readonly string[] = [
  'The bearer of this letter is a friend. A task-oriented risk-averse design.',
  'Cookie: chocolate chip. I like a cookie, and brackets: [a=b].',
  'Usage: {"inputTokens":1200,"outputTokens":34,"maxTokens":4096}',
  'const token = next(); // the token of the parser',
  'See https://example.com:8080/path?page=2#top and http://user@host/x, mail ada@example.com',
  'a sketch, disk-space, sk-learn, -----BEGIN----- and ----',
  'Deutsch, 中文, emoji 👩‍💻 and \u0000 controls',
];

describe('redacting (T87)', () => {
  test.each(SECRETS)('%s', (text, secret) => {
    const redacted = redactText(text);
    expect(text).toContain(secret);
    expect(redacted).not.toContain(secret);
    expect(redacted).toHaveLength(text.length);
  });

  test.each(PLAIN)('leaves alone what is no secret: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });

  test('keeps what is around a secret at its place', () => {
    const text = 'before\nkey sk-ant-0123456789abc\nafter';
    expect(redactText(text)).toBe('before\nkey sk-*****************\nafter');
    expect(redactText(PEM)).toBe(PEM.replace(/[A-Za-z0-9+/=]{20,}/g, (line) => '*'.repeat(line.length)));
  });

  test('of any text every character stays what and where it is, or becomes a star; lines stay lines', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(...SECRETS.map(([text]) => text), ...PLAIN, '\n', '"', "'", '\\', '-----', '=', ':'),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.join('');
        const redacted = redactText(text);
        expect(redacted).toHaveLength(text.length);
        expect(redacted.split('\n').map((line) => line.length)).toEqual(
          text.split('\n').map((line) => line.length),
        );
        for (const [at, unit] of redacted.split('').entries()) if (unit !== '*') expect(unit).toBe(text[at]);
      }),
    );
  });

  test('a secret in the midst of anything is found', () => {
    const around = fc.constantFrom('', ' ', '\n', '\t', '"', "'", '(', ',', 'said: ', '\\n', '中');
    fc.assert(
      fc.property(around, fc.constantFrom(...SECRETS), around, (before, [text, secret], after) => {
        expect(redactText(`${before}${text}${after}`)).not.toContain(secret);
      }),
    );
  });

  test('long hostile text takes time in proportion', () => {
    const size = 300_000;
    const hostile = [
      'a',
      'a_',
      'sk-',
      '://',
      ':// :',
      '://a:b',
      'bearer ',
      'authorization: ',
      'cookie: a=',
      'password=',
      '-----BEGIN A-----',
      '-----',
      'eyJ.',
      'token token_',
      '"\\"',
      ' ',
      '\\n',
    ];
    for (const part of hostile) {
      const text = part.repeat(Math.ceil(size / part.length));
      const spent = cpuTimer();
      expect(redactText(text)).toHaveLength(text.length);
      expect(spent(), part).toBeLessThan(3000);
    }
  });

  test('of a value what stands under the name of a secret goes whole, and the original stays', () => {
    const value = {
      apiKey: 'letters',
      nested: [{ Authorization: 'x', 'Set-Cookie': ['a', 'b'] }, 'Bearer 0123456789'],
      inputTokens: 5,
      token: 'abc',
      text: 'token',
      none: null,
    };
    const before = structuredClone(value);
    expect(redactJson(value)).toEqual({
      apiKey: '*******',
      nested: [{ Authorization: '*', 'Set-Cookie': ['*', '*'] }, 'Bearer **********'],
      inputTokens: 5,
      token: '***',
      text: 'token',
      none: null,
    });
    expect(value).toEqual(before);
  });
});
