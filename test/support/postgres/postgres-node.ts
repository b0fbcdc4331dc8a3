import { randomUUID } from 'node:crypto';
import { Connections } from '../../../src/store/postgres/connection/connections.ts';
import { ServerTimeline } from '../../../src/store/postgres/connection/server-timeline.ts';
import {
  type StoreContext,
  type TransactionOptions,
  transaction,
} from '../../../src/store/postgres/connection/transaction.ts';
import type { Tx } from '../../../src/store/postgres/connection/tx.ts';
import { parsePostgresUrl } from '../../../src/store/postgres/settings.ts';
import { currentNode } from '../../../src/store/postgres/write/holder.ts';

const IDLE = 'idle_transaction_timeout_ms';

/** What the parts of a PostgreSQL store work with. The caller disposes of its connections. */
export function nodeOn(url: string): StoreContext {
  // A test may hold a transaction for longer than a node should.
  const patient = new URL(url);
  if (!patient.searchParams.has(IDLE)) patient.searchParams.set(IDLE, '120000');
  const connections = new Connections(parsePostgresUrl({ url: patient.href }));
  const now = (): string => new Date().toISOString();
  return {
    connections,
    now,
    self: currentNode(randomUUID()),
    tell: () => undefined,
    timeline: new ServerTimeline(),
  };
}

export interface Held extends AsyncDisposable {
  readonly connections: Connections;
  /** Commits. */
  end(): Promise<void>;
}

/** A transaction of another node that has done its work and stays open. */
export async function hold(
  url: string,
  work: (tx: Tx) => Promise<unknown>,
  options: TransactionOptions = {},
): Promise<Held> {
  const node = nodeOn(url);
  node.connections.opened();
  const worked = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const done = transaction(
    node,
    async (tx) => {
      await work(tx);
      tx.flush();
      await tx.settled();
      worked.resolve();
      await mayEnd.promise;
    },
    options,
  );
  await Promise.race([worked.promise, done]);
  const end = async (): Promise<void> => {
    mayEnd.resolve();
    await done;
  };
  const close = async (): Promise<void> => {
    await end();
    await node.connections[Symbol.asyncDispose]();
  };
  return { connections: node.connections, end, [Symbol.asyncDispose]: close };
}
