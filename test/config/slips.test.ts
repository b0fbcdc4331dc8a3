import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/config/parse-json.ts';
import { RepriseError } from '../../src/errors.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';
import { ConfigHome } from '../support/processes/config-home.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

interface Told {
  readonly code: string;
  readonly message: string;
  readonly next: unknown;
}

async function slip(content: unknown, where: 'project' | 'user' = 'user'): Promise<Told & { file: string }> {
  using home = new ConfigHome();
  home[where](content);
  const file = where === 'user' ? home.userFile : home.projectFile;
  return { ...(await told(home.load())), file };
}

async function told(loading: Promise<unknown>): Promise<Told> {
  const error = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof RepriseError)) throw new Error(`no error with a code: ${String(error)}`);
  return { code: error.code, message: error.message, next: error.details['next'] };
}

describe('a mistake in a file', () => {
  test.each([
    [{ serve: {} }, 'serve', 'Did you mean "server"?'],
    [{ server: { prot: 1 } }, 'server.prot', 'Did you mean "server.port"?'],
    [{ models: { openia: {} } }, 'models.openia', 'Did you mean "models.openai"?'],
    [{ agents: { main: { tool: {} } } }, 'agents.main.tool', 'Did you mean "agents.main.tools"?'],
    [{ log: { zzzzzz: 1 } }, 'log.zzzzzz', 'The names in log are level, format.'],
    [
      { session: { queue: { byChannel: { x: { mod: 1 } } } } },
      'session.queue.byChannel.x.mod',
      'Did you mean',
    ],
  ])('an unknown name is an error that says what was meant: %j', async (content, field, next) => {
    const error = await slip(content);
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain(`there is no setting "${field}"`);
    expect(error.message).toContain(error.file);
    expect(error.next).toContain(next);
  });

  test.each([
    [{ server: { port: 'http' } }, 'server.port cannot be "http"', 'a whole number from 0 to 65535'],
    [{ server: { port: 70_000 } }, 'server.port cannot be 70000', 'a whole number from 0 to 65535'],
    [{ store: { kind: 'sqlit' } }, 'store.kind cannot be "sqlit"', 'one of memory, jsonl, sqlite, postgres'],
    [{ agents: [] }, 'agents cannot be []', 'an object of names'],
    [
      { agents: { main: { tools: { allow: 'all' } } } },
      'agents.main.tools.allow cannot be "all"',
      'a list of text',
    ],
    [
      { models: { openai: { baseURL: 'file:///etc' } } },
      'models.openai.baseURL cannot be "file:///etc"',
      'a URL',
    ],
    [{ session: { reset: {} } }, 'session.reset.mode is missing', 'one of none, daily, idle'],
    [{ compaction: { cut: { kind: 'x' } } }, 'compaction.cut.kind cannot be "x"', 'one of "keep-tokens"'],
    [
      { compaction: { background: true } },
      'compaction.background cannot be true',
      'a number from 0 to 1 or false',
    ],
    [{ session: { maintenance: { ttl: '5y' } } }, 'session.maintenance.ttl cannot be "5y"', 'such as "12h"'],
    [{ session: { reset: { mode: 'idle' } } }, 'reset.idleMinutes', 'a number above 0'],
    [{ session: { timeZone: 'Mars/Base' } }, 'timeZone cannot be "Mars/Base"', 'IANA'],
    [{ agents: { 'No Agent': { model: 'offline' } } }, 'not a valid agent id', 'No Agent'],
    [[1], 'is not an object of settings', ''],
  ])(
    'a wrong value is reported with its path, the file and the allowed values: %j',
    async (content, what, allowed) => {
      const error = await slip(content);
      expect(error.code).toBe('CONFIG_INVALID');
      expect(error.message).toContain(what);
      expect(error.message).toContain(allowed);
      expect(error.message).toContain(error.file);
      expect(error.next).toEqual(expect.any(String));
    },
  );

  test.each([
    ['{"a": 1,}', 1, 9],
    ['{\n  "server": {\n    "port": 1\n    "host": "x"\n  }\n}', 4, 5],
    ['{\n  // why\n}', 2, 3],
    ["{'a': 1}", 1, 2],
    ['{"model": "off\nline"}', 1, 11],
    ['{"model": "x"', 1, 14],
    ['{"model": tru}', 1, 11],
    ['{"model": 01}', 1, 12],
    ['{"model": "x"} x', 1, 16],
    ['', 1, 1],
    ['{"model": "x",\n "model": "y"}', 2, 2],
  ])('broken JSON is told with line and column: %j', async (text, line, column) => {
    const error = await slip(text, 'project');
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain(`${error.file} line ${line} column ${column}: `);
  });

  test('a wrong value is reported with its line', async () => {
    const error = await slip('{\n  "model": "offline",\n  "server": {\n    "port": -1\n  }\n}');
    expect(error.message).toContain(`${error.file} line 4`);
  });

  test.each([
    '{"__proto__": {"isAdmin": true}}',
    '{"server": {"__proto__": {"isAdmin": true}}}',
    '{"agents": {"__proto__": {"isAdmin": true}}}',
    '{"agents": {"constructor": {"prototype": {"isAdmin": true}}}}',
    '{"constructor": {"prototype": {"isAdmin": true}}}',
    '{"session": {"resetByChannel": {"__proto__": {"mode": "daily"}}}}',
    '{"session": {"identityLinks": {"prototype": ["a:b"]}}}',
    '{"\\u005f_proto__": {"isAdmin": true}}',
    '{"agents": {"toString": {"isAdmin": true}}}',
    '{"agents": {"valueOf": {"model": "offline"}}}',
    '{"agents": {"hasOwnProperty": {"session": {}}}}',
  ])('no name reaches what all objects inherit (T65): %s', async (text) => {
    const names = (): string[] => Object.getOwnPropertyNames(Object.prototype);
    const before = names();
    for (const where of ['project', 'user'] as const)
      expect((await slip(text, where)).code).toBe('CONFIG_INVALID');
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
    expect(names()).toEqual(before);
    for (const inherited of [
      Object.prototype.toString,
      Object.prototype.valueOf,
      Object.prototype.hasOwnProperty,
    ])
      expect(Object.keys(inherited)).toEqual([]);
  });

  test('in the environment names the variable and not the file', async () => {
    using home = new ConfigHome();
    const error = await told(home.load({ REPRISE_PORT: 'http' }));
    expect(error.message).toBe('REPRISE_PORT cannot be "http": it must be a whole number from 0 to 65535');
    expect(await told(home.load({}, { store: 'x' }))).toMatchObject({
      message: expect.stringContaining('--store'),
    });
    expect(await told(home.load({ REPRISE_SESSION_RESET: '{"mode":' }))).toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  test('never shows a secret', async () => {
    const secret = 'hunter2-very-secret';
    using home = new ConfigHome();
    const errors = [
      await slip({ models: { openai: { apiKey: [secret] } } }),
      await slip({ models: { openai: { headers: { 'x-key': { secret } } } } }),
      await slip({ server: { token: { value: secret } } }),
      await slip({ store: { url: `nonsense://ada:${secret}@`, kind: 'x' } }),
      await slip({ models: { openai: { baseURL: `ftp://ada:${secret}@host/` } } }),
      await told(home.load({ REPRISE_STORE_URL: `://ada:${secret}@host` })),
    ];
    for (const { code, message, next } of errors) {
      expect(code).toBe('CONFIG_INVALID');
      expect(`${message} ${String(next)}`).not.toContain(secret);
    }
  });
});

describe('unreadable files', () => {
  test('a folder, a pipe, a huge file and bytes that are no text are errors and do not hang', async () => {
    using home = new ConfigHome();
    mkdirSync(home.projectFile);
    expect((await told(home.load())).message).toContain('is not a file');
    using other = new ConfigHome();
    spawnSync('mkfifo', [other.projectFile]);
    expect((await told(other.load())).message).toContain('is not a file');
    expect((await slip(`{"model": "${'x'.repeat(300_000)}"}`)).message).toContain('larger than');
    using third = new ConfigHome();
    writeFileSync(third.userFile, Buffer.from([0x7b, 0xff, 0x7d]));
    expect((await told(third.load())).message).toContain('is not UTF-8');
  });

  test('a file may start with a byte order mark, and a link to it is the file', async () => {
    using home = new ConfigHome();
    writeFileSync(join(home.root, 'real.json'), '\ufeff{"maxSteps": 7}');
    symlinkSync(join(home.root, 'real.json'), home.projectFile);
    expect((await home.load()).config.maxSteps).toBe(7);
  });

  test('a file with keys that other users can read is reported once', async () => {
    using home = new ConfigHome();
    home.user({ models: { openai: { apiKey: 'k' } } });
    chmodSync(home.userFile, 0o644);
    const { warnings } = await home.load();
    expect(warnings).toEqual([expect.stringContaining(`chmod 600 ${home.userFile}`)]);
  });
});

describe('the reader of JSON', () => {
  const json = fc.json({ maxDepth: 6 }).filter((text) => !/__proto__|constructor|prototype/.test(text));

  test('agrees with JSON.parse on all valid JSON', () => {
    fc.assert(
      fc.property(json, (text) => {
        expect(parseJson(text, 'f').value).toEqual(JSON.parse(text));
      }),
    );
  });

  test('refuses what JSON.parse refuses, with line and column', () => {
    const broken = fc
      .tuple(json, fc.nat(), fc.string({ maxLength: 3 }))
      .map(
        ([text, at, extra]) =>
          text.slice(0, at % (text.length + 1)) + extra + text.slice((at % (text.length + 1)) + 1),
      );
    fc.assert(
      fc.property(broken, (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) return;
        expect(() => parseJson(text, 'f')).toThrow(/f line \d+ column \d+: /);
      }),
      { numRuns: 500 },
    );
  });

  test('takes time in proportion to the size of a file', () => {
    const spent = cpuTimer();
    for (const text of [
      '['.repeat(200_000),
      `[${'0,'.repeat(100_000)}0]`,
      `"${'\\n'.repeat(100_000)}`,
      '{"a":'.repeat(40_000),
    ])
      try {
        parseJson(text, 'f');
      } catch (error) {
        expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
      }
    expect(spent()).toBeLessThan(5000);
  });
});
