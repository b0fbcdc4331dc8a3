import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { type Ask, startServer, type TestServer, talk } from '../support/server/http.ts';
import { type Known, ODD, type OpenApiOperation, operationsOf, valid } from '../support/server/openapi.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 25);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);

interface Sent extends Ask {
  readonly path: string;
}

/** What an operation deleted is there again for the next. */
async function mend({ reprise }: TestServer, ids: string[]): Promise<void> {
  const trash = (await reprise.sessions({ status: 'any', limit: 1000 })).sessions;
  for (const at of [0, 1, 2, 5]) {
    const record = trash.find(({ id }) => id === ids[at]);
    if (record === undefined) ids[at] = await talk(reprise, ['hello'], `agent:main:direct:n${at}`);
    else if (record.status === 'deleted') await reprise.store.restore(record.id);
  }
}

/** Sessions in all the states there are. */
async function scene(server: TestServer): Promise<string[]> {
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
    ids.push(await talk(server.reprise, ['hello', 'again'], `agent:main:direct:${name}`));
  const [, , , gone = '', purged = ''] = ids;
  await server.reprise.store.delete(gone);
  await server.reprise.store.delete(purged);
  await server.reprise.store.purge(purged);
  const line = {
    agentId: 'main',
    channelType: 'web',
    channelId: 'c1',
    role: 'user',
    content: 'hello',
  } as const;
  await server.reprise.store.convlog.append([line]);
  return ids;
}

function requestOf({ method, path, parameters, body }: OpenApiOperation, known: Known): fc.Arbitrary<Sent> {
  const value = (name: string, schema: Parameters<typeof valid>[0]): fc.Arbitrary<string> =>
    fc.oneof(
      {
        weight: 4,
        arbitrary: known[name] === undefined ? valid(schema).map(String) : fc.constantFrom(...known[name]),
      },
      { weight: 1, arbitrary: ODD },
    );
  const inPath = parameters.filter((one) => one.in === 'path');
  const inQuery = parameters.filter((one) => one.in === 'query');
  const paths = fc.record(Object.fromEntries(inPath.map(({ name, schema }) => [name, value(name, schema)])));
  const optional = inQuery.filter(({ required }) => required !== true);
  const needed = inQuery.filter(({ required }) => required === true);
  const values = (list: typeof inQuery): Record<string, fc.Arbitrary<string>> =>
    Object.fromEntries(list.map(({ name, schema }) => [name, value(name, schema)]));
  const queries = fc
    .tuple(
      fc.record(values(needed)),
      seldom<object>({}, fc.record(values(optional), { requiredKeys: [] })),
      seldom<object>({}, fc.record({ odd: ODD })),
    )
    .map((parts) => Object.assign({}, ...parts) as Record<string, string>);
  const bodies: fc.Arbitrary<unknown> =
    body === undefined
      ? fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.json(), ODD)
      : fc.oneof({ weight: 4, arbitrary: valid(body, known) }, fc.constant(undefined), fc.json(), ODD);
  const oddHeaders = fc.record(
    {
      'If-Match': fc.constantFrom('*', '"1"', 'x', ''),
      'If-None-Match': fc.constantFrom('*', '"1"'),
      'Idempotency-Key': fc.constantFrom('a', 'b', 'c d', 'x'.repeat(300)),
      'Content-Type': fc.constantFrom(
        'application/json',
        'text/plain',
        'x',
        'application/json; charset=latin1',
      ),
      Accept: fc.constantFrom('text/event-stream', '*/*', 'x', 'application/vnd.reprise+json'),
      'Last-Event-ID': fc.constantFrom('1.1', 'x', '-1', '99999999999999999999.1'),
    },
    { requiredKeys: [] },
  );
  const headers = seldom<object>({}, oddHeaders);
  return fc
    .record({ params: paths, query: queries, sent: bodies, headers })
    .map(({ params, query, sent, headers: given }): Sent => {
      const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => escaped(String(params[name])));
      const search = Object.entries(query).map(([name, text]) => `${name}=${escaped(String(text))}`);
      const isRead = method === 'GET';
      return {
        method,
        path: search.length === 0 ? filled : `${filled}?${search.join('&')}`,
        headers: given as Record<string, string>,
        ...(sent !== undefined && !isRead && { body: sent }),
      };
    });
}

function seldom<T>(mostly: T, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(mostly) }, { weight: 1, arbitrary });
}

/** A lone surrogate has no escape. */
function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

test.each(['native', 'zyhive'] as const)(
  'profile %s: no operation of the document answers 5xx, whatever it is sent, and its answers are as described',
  async (profile) => {
    await using server = await startServer({}, { store: await openMemoryStore({}), profile });
    const sessionId = await scene(server);
    const { json } = await server.ask('/openapi.json');
    const operations = operationsOf(json);
    expect(operations.length).toBeGreaterThan(40);
    const { inboxId } = await server.reprise.receive({ channel: 'web', peer: 'ada', text: 'hello' });
    const seen = new Map<string, Set<number>>();
    for (const operation of operations) {
      // It does not end; test/server/sse/follow.test.ts.
      if (operation.id.startsWith('followSession')) continue;
      await mend(server, sessionId);
      const [first = ''] = sessionId;
      // As stored: an operation may have moved the leaf to a place before all messages.
      const { entries } = await server.reprise.store.read(first);
      const entryIds = entries.flatMap(({ entry }) => (typeof entry['id'] === 'string' ? [entry['id']] : []));
      const known: Known = {
        agentId: ['main', 'main', 'main', 'other'],
        sessionId: [first, ...sessionId, 'nobody'],
        turnId: ['last'],
        channelId: ['c1'],
        inboxId: [inboxId],
        entryId: entryIds,
        at: entryIds,
        command: ['/status', '/context', '/help'],
        sessionKey: ['agent:main:main'],
      };
      const statuses = new Set<number>();
      seen.set(operation.id, statuses);
      await fc.assert(
        fc.asyncProperty(requestOf(operation, known), async ({ path, ...rest }) => {
          const { status, headers, json: told } = await server.ask(path, rest);
          statuses.add(status);
          expect(status).toBeLessThan(500);
          if (status >= 400) {
            expect(headers['content-type']).toBe('application/problem+json');
            expect(told).toMatchObject({ status, code: expect.any(String), error: expect.any(String) });
          } else {
            const name = `${status} ${headers['content-type']}`;
            const isDescribed = [...operation.answers.keys()].some((one) => one.startsWith(`${status} `));
            if (isDescribed && told !== undefined) expect([...operation.answers.keys()]).toContain(name);
            operation.answers.get(name)?.parse(told);
          }
        }),
        { numRuns: RUNS, seed: SEED },
      );
    }
    // A fuzz that never gets through the door would prove nothing.
    const answered = [...seen].filter(([, statuses]) => [200, 201].some((good) => statuses.has(good)));
    expect(answered.length).toBeGreaterThan(seen.size * 0.7);
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
    expect((await server.ask('/readyz')).status).toBe(200);
  },
);
