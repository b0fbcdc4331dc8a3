import type { RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Model } from '../../../src/models/model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { LiveEvent, Store } from '../../../src/store/port/store.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { type OpenedServer, openServer } from './server.ts';

/** How often one message arrives, and after how many milliseconds each time. */
export type Fate = (sessionId: string, event: JsonObject) => readonly number[];

const AT_ONCE: Fate = () => [0];

/** What passes events from server to server, as a network would: not always, not once, and not in order. */
export class Bus {
  fate: Fate = AT_ONCE;
  /** Messages that were sent, lost ones too. */
  sent = 0;
  readonly #ears: Set<{ readonly id: string; hear(text: string): void }> = new Set();

  publish(id: string, event: JsonObject): void {
    this.sent++;
    const text = JSON.stringify(event);
    for (const ear of this.#ears)
      if (ear.id === id)
        for (const ms of this.fate(id, event)) {
          if (ms === 0) queueMicrotask(() => ear.hear(text));
          else setTimeout(() => ear.hear(text), ms).unref();
        }
  }

  async *live(id: string, signal: AbortSignal): AsyncGenerator<LiveEvent, void, undefined> {
    const waiting: string[] = [];
    let wake = (): void => undefined;
    const hear = (text: string): void => {
      waiting.push(text);
      wake();
    };
    const ear = { id, hear };
    this.#ears.add(ear);
    signal.addEventListener('abort', () => wake(), { once: true });
    try {
      while (!signal.aborted) {
        const text = waiting.shift();
        if (text !== undefined) yield { event: JSON.parse(text) as JsonObject, missed: 0 };
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#ears.delete(ear);
    }
  }
}

export interface Nodes extends AsyncDisposable {
  readonly bus: Bus;
  readonly nodes: readonly OpenedServer[];
}

/** Servers with an engine each on one store that reaches them all. Only the first runs sessions that no server runs. */
export async function openNodes(
  models: readonly Model[],
  options: Partial<RepriseOptions> = {},
): Promise<Nodes> {
  const bus = new Bus();
  const store = await openMemoryStore({});
  const nodes: OpenedServer[] = [];
  for (const [i, model] of models.entries())
    nodes.push(await openServer(model, { ...options, run: i === 0, store: onBus(store, bus) }));
  return {
    bus,
    nodes,
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

function onBus(store: Store, bus: Bus): Store {
  const over = new AbortController();
  return new Proxy(store, {
    get: (_, name) => {
      if (name === 'supports') return { ...store.supports, live: 'all' };
      if (name === 'publish') return async (id: string, event: JsonObject) => bus.publish(id, event);
      if (name === 'live')
        return (id: string, { signal }: { signal: AbortSignal }) =>
          bus.live(id, AbortSignal.any([signal, over.signal]));
      // Each engine closes its own, and none the one below.
      if (name === Symbol.asyncDispose) return async () => over.abort();
      const value: unknown = Reflect.get(store, name, store);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}
