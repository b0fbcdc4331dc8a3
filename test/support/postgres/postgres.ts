import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { inject } from 'vitest';

export interface FreshDatabase extends AsyncDisposable {
  readonly url: string;
}

let known: Promise<string> | undefined;

async function askForServer(): Promise<string> {
  const said = await text(connect(inject('postgresDoor'), '127.0.0.1'));
  const { url, error } = JSON.parse(said) as { readonly url?: string; readonly error?: string };
  if (url === undefined) throw new Error(error);
  return url;
}

/** The URL of this run's server, of its maintenance database. */
export function postgresUrl(): Promise<string> {
  known ??= askForServer();
  return known;
}

async function run(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: await postgresUrl() });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A database for this test on the server of this run: empty, or like another one that is not in use now. */
export async function freshDatabase({
  like,
}: {
  readonly like?: FreshDatabase;
} = {}): Promise<FreshDatabase> {
  const name = `reprise_test_${randomBytes(8).toString('hex')}`;
  // No connection to template0 is possible, so that many tests may copy it at once.
  const template = like === undefined ? 'template0' : new URL(like.url).pathname.slice(1);
  await run(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = new URL(await postgresUrl());
  url.pathname = `/${name}`;
  return {
    url: url.href,
    // By force: what a test leaves open must not keep the next run's disk full.
    [Symbol.asyncDispose]: () => run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}
