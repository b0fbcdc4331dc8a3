import { noneIfGone } from '../store/nobody.ts';
import type { SessionRecord, Store } from '../store/store.ts';

/** The sessions of what a search has found, by their ids. One that was purged since is not among them. */
export async function foundSessions(
  store: Pick<Store, 'get'>,
  hits: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, SessionRecord>> {
  const ids = [...new Set(hits.map(({ id }) => id))];
  const records = await Promise.all(ids.map((id) => store.get(id).catch(noneIfGone)));
  return new Map(records.flatMap((record) => (record === undefined ? [] : [[record.id, record]])));
}
