import { RepriseError } from '../../src/errors.ts';
import type { ConvlogLine } from '../../src/store/port/convlog.ts';
import type { InboxState } from '../../src/store/port/inbox.ts';
import type {
  AppendOptions,
  Lease,
  ListQuery,
  NewEntry,
  ReadRange,
  SessionInit,
  Store,
} from '../../src/store/port/store.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';

export interface DriverContext {
  readonly store: Store;
  /** Leases by session id, so that `release`, `renew` and `take` need not name a lease. */
  readonly leases: Map<string, Lease>;
}

/** One operation of the driver protocol: takes the fields of a command and returns the fields of its answer. */
export type Operation = (context: DriverContext, command: JsonObject) => Promise<JsonObject>;

interface Kinds {
  readonly number: number;
  readonly string: string;
  readonly object: JsonObject;
}

export const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  [
    'create',
    async ({ store }, command) => {
      const optional = pick(command, { id: 'string', parentId: 'string', cwd: 'string', settings: 'object' });
      const init: SessionInit = { ...optional, key: text(command, 'key') };
      const { id, sessionKey } = await store.create(init);
      return { id, key: sessionKey, firstSeq: 1 };
    },
  ],
  ['get', async ({ store }, command) => ({ session: await store.get(text(command, 'id')) })],
  [
    'list',
    async ({ store }, command) => {
      const query = pick(command, {
        limit: 'number',
        cursor: 'string',
        agentId: 'string',
        channel: 'string',
        kind: 'string',
        parentId: 'string',
        status: 'string',
        text: 'string',
      });
      const { sessions, cursor } = await store.list(query as ListQuery);
      return { sessions, cursor };
    },
  ],
  [
    'append',
    async ({ store }, command) => {
      const options: AppendOptions = {
        ...pick(command, { key: 'string', epoch: 'number', expectedLeaf: 'string' }),
        // A null leaf is an expectation too: the session has no chain entry yet.
        ...(command['expectedLeaf'] === null ? { expectedLeaf: null } : {}),
      };
      const { firstSeq, lastSeq } = await store.append(text(command, 'id'), entriesOf(command), options);
      return { firstSeq, lastSeq };
    },
  ],
  ['tail', async ({ store }, command) => ({ ...(await store.tail(text(command, 'id'))) })],
  [
    'read',
    async ({ store }, command) => {
      const range = pick(command, { from: 'number', limit: 'number', direction: 'string' }) as ReadRange;
      return { ...(await store.read(text(command, 'id'), range)) };
    },
  ],
  [
    'blob',
    async ({ store }, command) => ({
      base64: base64(await store.blob(text(command, 'id'), text(command, 'hash'))),
    }),
  ],
  [
    'lease',
    async ({ store, leases }, command) => {
      const id = text(command, 'id');
      const lease = await store.lease(id, pick(command, { ttlMs: 'number', waitMs: 'number' }));
      leases.set(id, lease);
      return { epoch: lease.epoch };
    },
  ],
  [
    'renew',
    async ({ leases }, command) => {
      const lease = heldLease(leases, command);
      await lease.renew();
      return { epoch: lease.epoch };
    },
  ],
  [
    'release',
    async ({ leases }, command) => {
      const lease = heldLease(leases, command);
      const item = await lease.release();
      // A waiting item means that the store refused: the lease is still held, unless a newer one replaced it.
      if (item === null && leases.get(lease.sessionId) === lease) leases.delete(lease.sessionId);
      return { item };
    },
  ],
  [
    'put',
    async ({ store }, command) => {
      const { key, source, body, reset, ...rest } = pick(command, {
        key: 'string',
        source: 'string',
        idempotencyKey: 'string',
        body: 'object',
        reset: 'string',
      });
      const sessionKey = key ?? (await keyOf(store, text(command, 'id')));
      const { sessionId, ...receipt } = await store.inbox.receive({
        sessionKey,
        source: source ?? 'driver',
        body: body ?? {},
        ...(reset !== undefined && { reset: { reason: reset } }),
        ...rest,
      });
      return { id: sessionId, ...receipt };
    },
  ],
  [
    'take',
    async ({ store, leases }, command) => {
      const { epoch } = pick(command, { epoch: 'number' });
      const owner = { epoch: epoch ?? heldLease(leases, command).epoch };
      return { item: await store.inbox.take(text(command, 'id'), owner) };
    },
  ],
  [
    'settle',
    async ({ store }, command) => {
      const { state = 'done', detail } = pick(command, { state: 'string', detail: 'object' });
      await store.inbox.settle(text(command, 'inboxId'), state as InboxState, detail);
      return {};
    },
  ],
  [
    'patch',
    async ({ store }, command) => {
      const { settings = {} } = pick(command, { settings: 'object' });
      return { session: await store.patch(text(command, 'id'), settings) };
    },
  ],
  [
    'log',
    async ({ store }, { lines }) => {
      await store.convlog.append(lines as readonly ConvlogLine[]);
      return {};
    },
  ],
  ['delete', async ({ store }, command) => ({ session: await store.delete(text(command, 'id')) })],
  ['restore', async ({ store }, command) => ({ session: await store.restore(text(command, 'id')) })],
  [
    'purge',
    async ({ store }, command) => {
      await store.purge(text(command, 'id'));
      return {};
    },
  ],
  [
    'search',
    async ({ store }, command) => {
      const options = pick(command, { limit: 'number', agentId: 'string', budgetMs: 'number' });
      return { ...(await store.search({ text: text(command, 'text'), ...options })) };
    },
  ],
  [
    'reindex',
    async ({ store }) => {
      await store.reindex();
      return {};
    },
  ],
  [
    'verify',
    async ({ store }, command) => {
      const { id } = pick(command, { id: 'string' });
      return { ...(await store.verify(id)) };
    },
  ],
  [
    'export',
    async ({ store }, command) => ({ base64: base64(await store.exportSession(text(command, 'id'))) }),
  ],
]);

function base64({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('base64');
}

export function text(command: JsonObject, name: string): string {
  const value = command[name];
  if (typeof value === 'string') return value;
  throw new RepriseError('INVALID_INPUT', `"${name}" must be a string`, { details: { field: name } });
}

/** The given fields that exist and have the right type; null counts as absent, as in the cursor of the last page. */
function pick<K extends Readonly<Record<string, keyof Kinds>>>(
  command: JsonObject,
  kinds: K,
): { readonly [N in keyof K]?: Kinds[K[N]] } {
  const picked: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const value = command[name];
    if (value === undefined || value === null) continue;
    if (kind === 'object' ? !isObject(value) : typeof value !== kind) {
      throw new RepriseError('INVALID_INPUT', `"${name}" is no ${kind}`, { details: { field: name } });
    }
    picked[name] = value;
  }
  return picked as { readonly [N in keyof K]?: Kinds[K[N]] };
}

function entriesOf({ messages = [], entries = [] }: JsonObject): readonly NewEntry[] {
  if (!Array.isArray(messages) || !Array.isArray(entries) || !entries.every(isObject)) {
    throw new RepriseError('INVALID_INPUT', '"messages" and "entries" must be lists of objects');
  }
  return [...messages.map((message: unknown) => ({ type: 'message', message })), ...(entries as NewEntry[])];
}

/** A new key for a session. It points to that session from now on, unless it already points to another one. */
async function keyOf(store: Store, id: string): Promise<string> {
  const { sessionKey, active } = await store.get(id);
  if (!active && (await store.active(sessionKey)) === undefined) await store.activate(sessionKey, id);
  return sessionKey;
}

function heldLease(leases: DriverContext['leases'], command: JsonObject): Lease {
  const id = text(command, 'id');
  const lease = leases.get(id);
  if (lease !== undefined) return lease;
  throw new RepriseError('NOT_FOUND', `this driver holds no lease on ${id}`, { details: { id } });
}
