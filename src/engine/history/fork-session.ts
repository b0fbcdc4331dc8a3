import { failure } from '../../messages/failure.ts';
import { copyHistory } from '../../store/copy/copy-history.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { TURN_STATISTICS } from '../../transcript/settings.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { type ForkMark, forkMark, markEntry } from './fork-mark.ts';
import { readHistory } from './read-history.ts';

/**
 * Copies a session up to an entry, under a new key. A repeated call with the same id returns the same copy: what to
 * copy is stored with the new session, so an interrupted attempt is completed as it began, whatever was added since.
 */
export async function forkSession(
  store: Store,
  source: SessionRecord,
  { at, id }: { readonly at: string | undefined; readonly id: string },
): Promise<SessionRecord> {
  const made = (await store.get(id).catch(noneIfGone)) ?? (await begin(store, source, { at, id }));
  if (made.parentId !== source.id)
    throw failure(
      'SESSION_EXISTS',
      'session.idTaken',
      { sessionId: id, source: source.id },
      { details: { id } },
    );
  const mark = forkMark(made.settings);
  if (mark?.from !== source.id || mark.state !== 'copying') return made;
  const path = mark.leaf === null ? [] : pathEntries(await readHistory(store, source.id), mark.leaf);
  await copyHistory(store, id, path, { blobsFrom: { store, id: source.id } });
  await store.append(id, [markEntry({ ...mark, state: 'done' })], { key: 'fork-done' });
  return store.get(id);
}

async function begin(
  store: Store,
  { id: from, agentId, settings }: SessionRecord,
  { at, id }: { readonly at: string | undefined; readonly id: string },
): Promise<SessionRecord> {
  const all = await readHistory(store, from);
  const leaf = (at === undefined ? pathEntries(all) : pathEntries(all, at)).at(-1)?.id ?? null;
  const mark: ForkMark = { from, leaf, state: 'copying' };
  const key = `agent:${agentId}:session:${id}`;
  // A label names one session: with a copied label, a ref would match both. A fork is not an import: a later import
  // of the same source must not recognize it.
  const own = new Set(['label', 'importedFrom', ...TURN_STATISTICS]);
  const others = Object.fromEntries(Object.entries(settings).filter(([name]) => !own.has(name)));
  return store.create({ id, key, parentId: from, settings: { ...others, forkedFrom: { ...mark } } });
}
