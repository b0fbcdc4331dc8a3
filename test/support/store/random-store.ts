import { RepriseError } from '../../../src/errors.ts';
import type { NewEntry } from '../../../src/exports/store.ts';
import type { Store } from '../../../src/index.ts';

const KEYS = ['agent:main:main', 'agent:main:telegram:group:42', 'agent:helper:main', 'global'] as const;
const TEXTS = ['plain', '\ud800 lone', 'NUL \u0000', '字'.repeat(40), '\u2028</script>', ''] as const;

function pick<T>(from: readonly [T, ...T[]], n: number): T {
  return from[n % from.length] ?? from[0];
}

function entryOf(n: number): NewEntry {
  const text = pick(TEXTS, n);
  if (n % 7 === 0) {
    const data = Buffer.alloc(70_000 + n, `${n}px`).toString('base64');
    return {
      type: 'message',
      message: { role: 'user', content: [{ type: 'image', data, mimeType: 'image/png' }] },
    };
  }
  if (n % 5 === 0) return { type: 'custom', customType: 'reprise.note', data: { n, [text]: text } };
  const role = n % 2 === 0 ? 'user' : 'assistant';
  return { type: 'message', message: { role, content: [{ type: 'text', text: `${n} ${text}` }] } };
}

/** One operation by a number, on whatever is there. What a store refuses is a part of its life. */
export async function operate(store: Store, op: number, n: number): Promise<void> {
  const { sessions } = await store.list({ status: 'any', limit: 1000 });
  const id = sessions[n % Math.max(1, sessions.length)]?.id ?? 'none';
  const key = pick(KEYS, n);
  const log = {
    agentId: 'main',
    channelType: 'web',
    channelId: `c${n % 3}`,
    role: 'user',
    content: pick(TEXTS, n),
  } as const;
  const work: readonly (() => Promise<unknown>)[] = [
    () => store.create({ key, settings: { n } }),
    () => store.create({ key, activate: true, parentId: id }),
    () => store.append(id, [entryOf(n)]),
    () => store.append(id, [entryOf(n), entryOf(n + 1), entryOf(n + 2)], { key: `k${n % 20}` }),
    () => store.patch(id, { label: pick(TEXTS, n), n }),
    () => store.activate(key, id, { reason: pick(TEXTS, n) }),
    async () => {
      await using lease = await store.lease(id, { waitMs: 0 });
      const { epoch } = lease;
      await store.inbox.take(id, { epoch, orphans: n % 2 === 0 });
      await store.append(id, [entryOf(n)], { epoch });
      await lease.release({ handOver: true });
    },
    () =>
      store.inbox.receive({
        sessionKey: key,
        source: `s${n % 2}`,
        ...(n % 3 > 0 && { idempotencyKey: `m${n % 30}` }),
        body: { n, text: pick(TEXTS, n) },
        class: pick(['message', 'system', 'command'], n),
        ...(n % 4 === 0 && { reset: { reason: 'why' } }),
        ...(n % 5 === 0 && { queue: { cap: 1, drop: 'summarize' } }),
        ...(n % 6 === 0 && { group: { name: 'g' } }),
        ...(n % 2 === 0 && { log }),
      }),
    async () => {
      const items = await store.inbox.pending();
      const item = items[n % Math.max(1, items.length)];
      if (item !== undefined)
        await store.inbox.settle(item.inboxId, pick(['done', 'failed', 'merged'], n), { n });
    },
    () => store.convlog.append([log, { ...log, sender: { id: 'u', name: pick(TEXTS, n + 1) || 'x' } }]),
    () => store.delete(id),
    () => store.restore(id),
    () => store.purge(id),
  ];
  try {
    await work[op % work.length]?.();
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
  }
}
