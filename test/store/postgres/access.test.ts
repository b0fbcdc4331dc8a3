import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { RepriseError } from '../../../src/errors.ts';
import { Cluster } from '../../support/postgres/cluster.ts';
import {
  cannotMakeCertificates,
  type GuardedPostgres,
  openGuardedPostgres,
  PASSWORD,
} from '../../support/postgres/guarded-postgres.ts';
import { type Ran, runBeside } from '../../support/processes/command-line.ts';

let guarded: GuardedPostgres;
let home = '';
beforeAll(async () => {
  guarded = await openGuardedPostgres();
  home = mkdtempSync(join(tmpdir(), 'reprise-access-'));
});
afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await guarded[Symbol.asyncDispose]();
});

/** What opening comes to: undefined when it opens. */
async function refusal(url: string): Promise<RepriseError | undefined> {
  try {
    await (await openStore({ kind: 'postgres', url }))[Symbol.asyncDispose]();
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(RepriseError);
    const all = inspect(error, { depth: 20, showHidden: true }) + (error as Error).stack;
    expect(all).not.toContain(PASSWORD);
    return error as RepriseError;
  }
}

async function reprise(url: string, ...args: readonly string[]): Promise<Ran & { readonly args: string }> {
  const env = {
    REPRISE_HOME: home,
    REPRISE_STORE: 'postgres',
    REPRISE_STORE_URL: url,
    REPRISE_LOG_LEVEL: 'trace',
  };
  return { args: args.join(' '), ...(await runBeside(args, { env })) };
}

describe('a server that asks who comes', () => {
  test('lets in who proves the password', async () => {
    expect(await refusal(guarded.url())).toBeUndefined();
  });

  test.each([
    ['a wrong password', { password: 'wrong' }, /password authentication failed/, /REPRISE_STORE_URL/],
    ['no password', { password: '' }, /has none/, /PGPASSWORD/],
    [
      'a user it does not know',
      { user: 'nobody_here' },
      /password authentication failed/,
      /REPRISE_STORE_URL/,
    ],
    ['a database it does not have', { database: 'missing' }, /no such database/, /createdb/],
    ['a user it rejects', { user: 'mallory' }, /does not let this user in/, /pg_hba\.conf/],
    [
      'a database that is not for the user',
      { database: 'other' },
      /does not let this user in/,
      /pg_hba\.conf/,
    ],
    ['a user who has to come by TLS', { user: 'eve' }, /does not let this user in/, /sslmode=verify-full/],
  ])('says so of %s, and what to do', async (_, change, message, next) => {
    const error = await refusal(guarded.url(change));
    expect(error).toMatchObject({ code: 'CONNECT_FAILED', outcome: 'none', exitCode: 5 });
    expect(error?.message).toMatch(message);
    expect(error?.details['next']).toMatch(next);
    // A client that gave up has closed the connection: the server does not wait for an answer that never comes.
    await expect.poll(() => guarded.atTheDoor()).toBe(0);
  });

  test('commands end with one line of cause, one of what to do and their exit code; the password is nowhere', async () => {
    // Refused before the password is looked at, so that it is the right one that must not be seen.
    const url = guarded.url({ user: 'mallory' });
    const [list, server, doctor, config] = await Promise.all([
      reprise(url, 'ls', '--json'),
      reprise(url, 'serve', '--port', '0'),
      reprise(url, 'doctor', '--json'),
      reprise(url, 'config'),
    ]);
    for (const { args, status, stdout, stderr } of [list, server]) {
      expect([args, status, stdout]).toEqual([args, 5, '']);
      const [cause, next, ...more] = stderr.trimEnd().split('\n');
      expect(cause).toMatch(/^reprise: .*does not let this user in.*\(CONNECT_FAILED\)$/);
      expect(next).toContain('pg_hba.conf');
      expect([args, more]).toEqual([args, []]);
    }
    const { data } = JSON.parse(doctor.stdout) as { readonly data: readonly object[] };
    expect(data).toContainEqual(
      expect.objectContaining({ name: 'store', ok: false, next: expect.stringContaining('pg_hba.conf') }),
    );
    expect([doctor.status, config.status]).toEqual([1, 0]);
    for (const { args, stdout, stderr } of [list, server, doctor, config])
      expect([args, (stdout + stderr).includes(PASSWORD)]).toEqual([args, false]);
  });

  test('that changes the password under a running server: not ready with the reason, and ready again', async () => {
    await using cluster = new Cluster({
      url: guarded.url(),
      model: 'offline',
      env: { REPRISE_LOG_LEVEL: 'trace' },
      stderr: 'pipe',
    });
    const node = await cluster.start();
    const log = text(node.child.stderr as NodeJS.ReadableStream);
    /** A server that takes long to answer the store is not ready either, for another reason. */
    const ready = async (): Promise<string> => {
      const answer = await node.request('/readyz');
      return `${answer.status} ${await answer.text()}`;
    };
    await expect.poll(ready).toMatch(/^200 /);
    await guarded.admin("ALTER ROLE ada PASSWORD 'changed'");
    onTestFinished(() => guarded.admin(`ALTER ROLE ada PASSWORD '${PASSWORD}'`).then(() => undefined));
    // Who was at the door when the password changed may still come in by the old one.
    await expect.poll(() => guarded.atTheDoor()).toBe(0);
    await guarded.admin(
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'ada'",
    );
    await expect.poll(ready).toMatch(/^503 .*"STORE_FAILED"/);
    const said = await ready();
    const chat = await node.chat({ message: 'lost?', sessionId: 's' });
    const answer = await chat.text();
    expect([chat.status, JSON.parse(answer)]).toMatchObject([503, { code: 'STORE_FAILED', outcome: 'none' }]);
    await guarded.admin(`ALTER ROLE ada PASSWORD '${PASSWORD}'`);
    await expect.poll(ready).toMatch(/^200 /);
    expect(await (await node.chat({ message: 'again', sessionId: 's' })).text()).toContain(
      'You said: \\"again\\"',
    );
    expect(await cluster.end(node, 'SIGTERM')).toBe(0);
    for (const shown of [said, answer, await log]) expect(shown).not.toContain(PASSWORD);
  });
});

const noCertificates = cannotMakeCertificates();
describe.skipIf(noCertificates !== undefined)(
  `a server with a certificate of one's own authority${noCertificates === undefined ? '' : ` (skipped: ${noCertificates})`}`,
  () => {
    const url = (options: Record<string, string>, { host = 'localhost', user = 'eve' } = {}): string => {
      const own = new URL(guarded.url({ user }));
      own.hostname = host;
      own.search = new URLSearchParams(options).toString();
      return own.href;
    };
    let looks = 0;
    /** Whether the server sees the connections of a store as encrypted. */
    const seen = async (address: string): Promise<unknown> => {
      const own = new URL(address);
      // By a unique name: the connections of the store before it may still be open.
      const name = `seen-${++looks}`;
      own.searchParams.set('application_name', name);
      await using _ = await openStore({ kind: 'postgres', url: own.href });
      const { rows } = await guarded.admin(
        `SELECT bool_and(s.ssl) AS ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE application_name = '${name}'`,
      );
      return rows[0].ssl;
    };

    test('that has no TLS yet is refused by a client that requires it', async () => {
      for (const sslmode of ['prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']) {
        const error = await refusal(url({ sslmode }, { user: 'ada' }));
        expect(error, sslmode).toMatchObject({ code: 'CONNECT_FAILED' });
        expect(error?.why?.params).toMatchObject({ problem: 'noTls' });
        expect(error?.details['next']).toContain('ssl=on');
      }
    });

    describe('when it has one', () => {
      beforeAll(async () => {
        await guarded.setTls(true);
        // The tables are hers.
        await guarded.admin('GRANT ada TO eve, carol');
        expect(await refusal(guarded.url())).toBeUndefined();
      });

      test.each(['require', 'prefer', 'verify-ca', 'verify-full'])(
        'is believed with the authority that signed it (sslmode=%s)',
        async (sslmode) => {
          expect(await seen(url({ sslmode, sslrootcert: guarded.authority }))).toBe(true);
        },
      );

      test('is not asked for it with sslmode=no-verify, and not spoken to in secret with disable', async () => {
        expect(await seen(url({ sslmode: 'no-verify' }))).toBe(true);
        expect(await seen(url({ sslmode: 'disable' }, { user: 'ada' }))).toBe(false);
        expect(await seen(url({}, { user: 'ada' }))).toBe(false);
      });

      test.each(['require', 'prefer', 'verify-ca', 'verify-full'])(
        'is refused without its authority, by another one, and under another name (sslmode=%s)',
        async (sslmode) => {
          const [alone, other, name] = await Promise.all([
            refusal(url({ sslmode })),
            refusal(url({ sslmode, sslrootcert: guarded.otherAuthority })),
            refusal(url({ sslmode, sslrootcert: guarded.authority }, { host: '127.0.0.1' })),
          ]);
          for (const error of [alone, other]) {
            expect(error).toMatchObject({ code: 'CONNECT_FAILED', outcome: 'none' });
            expect(error?.why?.params).toMatchObject({ problem: 'certificateAuthority' });
            expect(error?.details['next']).toContain('sslrootcert=');
          }
          expect(name).toMatchObject({ code: 'CONNECT_FAILED', outcome: 'none' });
          expect(name?.why?.params).toMatchObject({ problem: 'certificateName' });
        },
      );

      test('accepts a client with a certificate, and refuses one that lacks it', async () => {
        const options = { sslmode: 'verify-full', sslrootcert: guarded.authority };
        expect(await seen(url({ ...options, ...guarded.ofCarol }, { user: 'carol' }))).toBe(true);
        const refused = await refusal(url(options, { user: 'carol' }));
        expect(refused).toMatchObject({ code: 'CONNECT_FAILED', outcome: 'none' });
        expect(refused?.message).toContain('valid client certificate');
      });

      test('a missing file and one without a certificate have their own errors', async () => {
        const missing = await refusal(url({ sslmode: 'verify-full', sslrootcert: '/nowhere/ca.pem' }));
        expect(missing).toMatchObject({ code: 'CONNECT_FAILED' });
        expect(missing?.message).toContain("open '/nowhere/ca.pem'");
        expect(missing?.details['next']).toContain('sslrootcert');
        const noPem = await refusal(url({ sslmode: 'verify-full', sslrootcert: 'package.json' }));
        expect(noPem).toMatchObject({ code: 'CONNECT_FAILED' });
      });
    });
  },
);
