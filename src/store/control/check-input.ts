import { RepriseError } from '../../errors.ts';
import { parseSessionId } from '../../keys/ids.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import type { AppendOptions, Inbound, NewEntry } from '../store.ts';

/** On this side of the thread, because a structured clone would already have changed what cannot be stored. */
export function checkEntries(entries: readonly NewEntry[]): void {
  for (const entry of entries as readonly unknown[]) {
    checkObject(entry, 'an entry');
    const { type, id } = entry;
    if (typeof type !== 'string' || type === '' || type === 'session') {
      throw new RepriseError('INVALID_INPUT', 'an entry has a type, and only the store writes headers');
    }
    if (id !== undefined) throw new RepriseError('INVALID_INPUT', 'ids of entries are given by the store');
  }
}

export function checkAppendOptions({ settle = [], deliver = [] }: AppendOptions): void {
  for (const { detail } of settle) if (detail !== undefined) checkObject(detail, 'a detail');
  // Checked as messages where they become requests.
  if (deliver.some(({ idempotencyKey }) => idempotencyKey === undefined))
    throw new RepriseError(
      'INVALID_INPUT',
      'a message that is delivered with an append has an idempotency key',
    );
}

export function checkInbound({ body, sessionId, create, queue, group }: Inbound): void {
  checkObject(body, 'a message body');
  if (sessionId !== undefined) parseSessionId(sessionId);
  if (create?.id !== undefined) parseSessionId(create.id);
  if (create?.settings !== undefined) checkObject(create.settings, 'settings');
  for (const [name, value] of Object.entries({ 'queue.cap': queue?.cap, 'group.max': group?.max })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new RepriseError('INVALID_INPUT', `${name} is a number of at least 1, not ${String(value)}`);
  }
}

export function checkObject(value: unknown, what: string): asserts value is JsonObject {
  if (!isObject(value)) throw new RepriseError('INVALID_INPUT', `${what} is an object`);
  assertStorable(value);
}
