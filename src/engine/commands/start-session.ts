import type { SessionRecord, Store } from '../../store/store.ts';

/** Of a conversation, not of the person who chose them: a new one starts without. */
const LEFT_BEHIND: ReadonlySet<string> = new Set([
  'label',
  'displayName',
  'compactionCount',
  'memoryFlushAt',
  'memoryFlushCompactionCount',
]);

/** A new session in the place of one, with the settings people chose; the old one is kept and linked. */
export async function startSession(store: Store, from: SessionRecord, label: string): Promise<SessionRecord> {
  const kept = Object.entries(from.settings).filter(([name]) => !LEFT_BEHIND.has(name));
  const settings = { ...Object.fromEntries(kept), ...(label !== '' && { label }) };
  const { id } = await store.create({ key: from.sessionKey, parentId: from.id, settings });
  return store.activate(from.sessionKey, id);
}
