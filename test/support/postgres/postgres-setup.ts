import { type AddressInfo, createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The port that returns the URL of this run's PostgreSQL server; the first request starts it. */
    postgresDoor: number;
  }
}

/**
 * One server for all files of a run that need one: that of `REPRISE_TEST_POSTGRES_URL`, or one that is started at
 * the first question and stopped with the run. A run that asks for none pays for none.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['REPRISE_TEST_POSTGRES_URL'];
  let server: Promise<PostgresServer> | undefined;
  const url = async (): Promise<string> => {
    if (given !== undefined && given !== '') return given;
    server ??= startPostgres();
    return (await server).url;
  };
  const door = createServer((socket) => {
    // A test that ended meanwhile does not need the answer.
    socket.on('error', () => undefined);
    // Where no server can be had, nothing is skipped: the tests that ask fail with the reason.
    void url().then(
      (said) => socket.end(JSON.stringify({ url: said })),
      (error: unknown) => socket.end(JSON.stringify({ error: (error as Error).message })),
    );
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  project.provide('postgresDoor', (door.address() as AddressInfo).port);
  return async () => {
    door.close();
    // One that never started was reported to those who asked.
    await server?.then(
      (started) => started.stop(),
      () => undefined,
    );
  };
}
