import { setTimeout as sleep } from 'node:timers/promises';
import type { InboundMessage } from '../../../src/engine/intake/inbound.ts';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Model } from '../../../src/models/model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

export interface Channels<M extends Model> extends AsyncDisposable {
  readonly reprise: Reprise;
  readonly model: M;
}

/** An engine that runs what it receives, at once unless a test says otherwise. */
export async function openChannels<M extends Model>(
  model: M,
  options: Partial<RepriseOptions> = {},
): Promise<Channels<M>> {
  const store = options.store ?? (await openMemoryStore({}));
  const session = { queue: { debounceMs: 0 }, ...options.session };
  const reprise = new Reprise({ compaction: { background: false }, ...options, session, store, model });
  return { reprise, model, [Symbol.asyncDispose]: () => reprise[Symbol.asyncDispose]() };
}

export function telegram(text: string, more: Partial<InboundMessage> = {}): InboundMessage {
  return { text, channel: 'telegram', peer: 'ada', sender: { id: 'ada', name: 'Ada' }, ...more };
}

/** A gate that a test opens when a model should continue. */
export function gate(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, resolve };
}

/** Polls until it holds; a test that waits in vain fails by its own time limit. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(2);
}
