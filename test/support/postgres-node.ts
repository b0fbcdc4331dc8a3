import { randomUUID } from 'node:crypto';
import { Connections } from '../../src/store/postgres/connections.ts';
import { currentNode } from '../../src/store/postgres/holder.ts';
import { ServerTimeline } from '../../src/store/postgres/server-timeline.ts';
import { parsePostgresUrl } from '../../src/store/postgres/settings.ts';
import type { StoreContext } from '../../src/store/postgres/transaction.ts';

/** What the parts of a PostgreSQL store work with. The caller disposes of its connections. */
export function nodeOn(url: string): StoreContext {
  const connections = new Connections(parsePostgresUrl({ url }));
  const now = (): string => new Date().toISOString();
  return {
    connections,
    now,
    self: currentNode(randomUUID()),
    tell: () => undefined,
    timeline: new ServerTimeline(),
  };
}
