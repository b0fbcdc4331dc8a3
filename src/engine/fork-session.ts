import { RepriseError } from '../errors.ts';
import { copyHistory } from '../store/copy-history.ts';
import type { SessionRecord, Store } from '../store/store.ts';
import { pathEntries } from '../transcript/tree.ts';
import { readHistory } from './read-history.ts';

/** A copy of a session up to an entry, under a key of its own. The same id again finds the copy as it was made. */
export async function forkSession(
  store: Store,
  { id: from, agentId, settings }: SessionRecord,
  { at, id }: { readonly at: string | undefined; readonly id: string },
): Promise<SessionRecord> {
  const all = await readHistory(store, from);
  const path = at === undefined ? pathEntries(all) : pathEntries(all, at);
  const key = `agent:${agentId}:session:${id}`;
  const made = await store.create({ id, key, parentId: from, settings });
  try {
    await copyHistory(store, made.id, path, { blobsFrom: { store, id: from } });
  } catch (error) {
    // More was said there since the first try: the copy is as it was then.
    if (!(error instanceof RepriseError) || error.code !== 'KEY_REUSED') throw error;
  }
  return store.get(made.id);
}
