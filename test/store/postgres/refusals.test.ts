import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { RepriseError } from '../../../src/errors.ts';
import { Connections } from '../../../src/store/postgres/connection/connections.ts';
import { isLost, pgError } from '../../../src/store/postgres/connection/pg-error.ts';
import { transaction } from '../../../src/store/postgres/connection/transaction.ts';
import { parsePostgresUrl } from '../../../src/store/postgres/settings.ts';
import { freshDatabase, postgresUrl } from '../../support/postgres/postgres.ts';
import { nodeOn } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

async function refusal(url: string): Promise<RepriseError> {
  try {
    await using _ = await openStore({ kind: 'postgres', url });
  } catch (error) {
    return error as RepriseError;
  }
  return expect.unreachable('it opened');
}

function changed(url: string, change: (url: URL) => void): string {
  const other = new URL(url);
  change(other);
  return other.href;
}

describe('a store that cannot be opened says why and what to do', () => {
  test('no server listens there', async () => {
    const { code, details } = await refusal('postgres://ada:secret@127.0.0.1:1/x');
    expect(code).toBe('CONNECT_FAILED');
    expect(details['next']).toContain('REPRISE_STORE_URL');
  });

  test('the user or the database is not known', async () => {
    await using database = await freshDatabase();
    const noUser = await refusal(changed(database.url, (url) => (url.username = 'nobody_here')));
    expect(noUser).toMatchObject({ code: 'CONNECT_FAILED', outcome: 'none' });
    const noDatabase = await refusal(changed(database.url, (url) => (url.pathname = '/nothing_here')));
    expect(noDatabase.code).toBe('CONNECT_FAILED');
    expect(noDatabase.details['next']).toContain('createdb');
  });

  test('the server has no connection left', async () => {
    await using database = await freshDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await query(database.url, `CREATE ROLE "${name}" LOGIN; ALTER ROLE "${name}" CONNECTION LIMIT 0`);
    const { code, details } = await refusal(changed(database.url, (url) => (url.username = name)));
    expect(code).toBe('STORE_BUSY');
    expect(details['next']).toContain('pool_max');
  });

  test('no encrypted connection can be had', async () => {
    await using database = await freshDatabase();
    const { code, details } = await refusal(`${database.url}?sslmode=verify-full`);
    expect(code).toBe('CONNECT_FAILED');
    expect(details['next']).toContain('sslmode');
  });

  test('a newer version made the tables', async () => {
    await using database = await freshDatabase();
    await (await openStore({ kind: 'postgres', url: database.url }))[Symbol.asyncDispose]();
    // One that old nodes can work with: they continue during a roll-out.
    await query(database.url, 'UPDATE reprise.schema_version SET version = version + 1');
    await (await openStore({ kind: 'postgres', url: database.url }))[Symbol.asyncDispose]();
    await query(database.url, 'UPDATE reprise.schema_version SET oldest_reader = 1000');
    expect(await refusal(database.url)).toMatchObject({ code: 'STORE_NEWER', outcome: 'none' });
  });

  test('a user who may not make tables', async () => {
    await using database = await freshDatabase();
    const name = new URL(database.url).pathname.slice(1);
    await query(database.url, `CREATE ROLE "${name}" LOGIN`);
    const { code, details } = await refusal(changed(database.url, (url) => (url.username = name)));
    expect(code).toBe('STORE_FAILED');
    expect(details['next']).toContain('CREATE');
  });

  test.each([
    'http://x/y',
    'nothing',
    'postgres://u:secret@h/db?pool_max=none',
    'postgres://u:55/secret@h/db',
    'postgres://u:55?secret@h/db',
    'postgres://u:%ffsecret@h/db',
  ])('%s', async (url) => {
    const error = await refusal(url);
    expect(error).toMatchObject({ code: 'INVALID_INPUT' });
    expect(inspect(error)).not.toContain('secret');
  });
});

test('a database that takes no writes can be read, says so when it is written to, and is written to when it can be', async () => {
  await using database = await freshDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await using writing = await openStore({ kind: 'postgres', url: database.url });
  const { id } = await writing.create({ key: 'agent:main:main' });
  await query(database.url, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  // One connection, so that each statement uses it.
  await using reading = await openStore({ kind: 'postgres', url: `${database.url}?pool_max=1` });
  expect((await reading.get(id)).id).toBe(id);
  const append = (): Promise<unknown> =>
    reading.append(id, [{ type: 'message', message: { role: 'user', content: 'x' } }], { key: 'k' });
  await expect(append()).rejects.toMatchObject({ code: 'STORE_READ_ONLY', outcome: 'none' });
  expect((await reading.stats()).server).toMatchObject({ readOnly: true });
  // Connections that were made meanwhile stay as they are: the store has to let go of them.
  await query(await postgresUrl(), `ALTER DATABASE "${name}" SET default_transaction_read_only = off`);
  await expect
    .poll(() =>
      append().then(
        () => 'done',
        ({ code }) => code,
      ),
    )
    .toBe('done');
  expect((await reading.get(id)).lastSeq).toBe(2);
});

test('no error carries the password', async () => {
  await using database = await freshDatabase();
  const withPassword = (url: URL): void => {
    url.password = 'pa55word';
  };
  const urls = [
    'postgres://ada:pa55word@127.0.0.1:1/x',
    'postgres://ada:pa55word@nowhere.invalid/x',
    'postgres://ada:pa55word@[broken/x',
    'mysql://ada:pa55word@h/x',
    'postgres://ada:pa55word@h/x?pooler=maybe',
    changed(database.url, (url) => {
      withPassword(url);
      url.username = 'nobody_here';
    }),
  ];
  for (const url of urls) {
    const error = await refusal(url);
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('pa55word');
    expect(JSON.stringify(error.details)).not.toContain('pa55word');
  }
});

test.each([
  ['28P01', 'CONNECT_FAILED'],
  ['53100', 'STORE_FULL'],
  ['53300', 'STORE_BUSY'],
  ['57014', 'STORE_BUSY'],
  ['57P03', 'STORE_BUSY'],
  ['25006', 'STORE_READ_ONLY'],
  ['XX001', 'STORE_CORRUPT'],
  ['57P01', 'STORE_FAILED'],
])('what the server says by %s is %s', (state, code) => {
  const error = pgError(Object.assign(new Error('said'), { code: state, severity: 'ERROR' }));
  expect(error).toMatchObject({ code, outcome: 'none', details: { reason: state } });
  expect(error.details['next']).toBeTypeOf('string');
});

test('a commit with an unknown result stays unknown, also if the network is gone', async () => {
  await using connections = new Connections(parsePostgresUrl({ url: 'postgres://ada@127.0.0.1:1/x' }));
  connections.opened();
  const timedOut = Object.assign(new Error('read ETIMEDOUT'), { code: 'ETIMEDOUT' });
  expect(connections.error(pgError(timedOut, 'unknown'))).toMatchObject({
    code: 'STORE_FAILED',
    outcome: 'unknown',
  });
  expect(connections.error(timedOut)).toMatchObject({ code: 'STORE_FAILED', outcome: 'none' });
});

test('a bug of our own is reported as one: nothing is retried, nothing is called lost or unknown', async () => {
  await using database = await freshDatabase();
  await query(database.url, 'CREATE TABLE said (x text)');
  const node = nodeOn(`${database.url}?pool_max=1`);
  await using connections = node.connections;
  const pidOf = async (): Promise<unknown> => (await connections.query('SELECT pg_backend_pid() AS pid'))[0];
  const before = await pidOf();
  let tries = 0;
  const mistaken = transaction(node, async (tx) => {
    tries++;
    await tx.query("INSERT INTO said VALUES ('x')");
    throw new TypeError("Cannot read properties of undefined (reading 'seq')");
  });
  const error: RepriseError = await mistaken.then(
    () => expect.unreachable('it committed'),
    (reason: RepriseError) => reason,
  );
  expect(error).toMatchObject({ code: 'STORE_FAILED', outcome: 'none', cause: expect.any(TypeError) });
  expect(error.message).not.toContain('connection to the server was lost');
  expect(tries).toBe(1);
  expect((await query(database.url, 'SELECT x FROM said')).rows).toEqual([]);
  // The transaction was rolled back, and its connection is as good as before.
  expect(await pidOf()).toEqual(before);
});

test.each([
  [new Error('Connection terminated unexpectedly'), true],
  [new Error('Client has encountered a connection error and is not queryable'), true],
  [new Error('Query read timeout'), true],
  [Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), true],
  [Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }), true],
  [Object.assign(new Error('going down'), { code: '57P01', severity: 'FATAL' }), true],
  [Object.assign(new Error('no such table'), { code: '42P01', severity: 'ERROR' }), false],
  [new TypeError('x is not a function'), false],
  [new RangeError('Invalid string length'), false],
  [Object.assign(new TypeError('bad'), { code: 'ERR_INVALID_ARG_TYPE' }), false],
  ['a text', false],
  [undefined, false],
])('%s: the connection is gone: %s', (error, lost) => {
  expect(isLost(error)).toBe(lost);
});
