import { failure } from '../../messages/failure.ts';
import { contentText } from '../../transcript/content.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { entryAt, parsePosition } from '../../transcript/message-position.ts';
import { readHistory } from '../history/read-history.ts';
import type { Session } from '../session.ts';

const PAGE = 1000;

/** The whole history, including abandoned branches. */
export async function readEntries(session: Session): Promise<Entry[]> {
  return readHistory({ read: (_id, range) => session.history(range) }, session.id);
}

/**
 * The end of the conversation, oldest first: its last `count` messages and the entries between them. Reads backwards,
 * so the cost depends on what is shown and not on the length of the history.
 */
async function readLast(session: Session, count: number): Promise<Entry[]> {
  const byId = new Map<string, Entry>();
  const path: Entry[] = [];
  let { leaf: wanted } = await session.record();
  let messages = 0;
  for (let from: number | undefined; ; ) {
    const at = from === undefined ? {} : { from };
    const page = await session.history({ ...at, limit: PAGE, direction: 'backward' });
    let lowest = Number.POSITIVE_INFINITY;
    for (const { seq, entry } of page.entries) {
      lowest = Math.min(lowest, seq);
      const { id } = entry as Entry;
      if (entry.type !== 'session' && !byId.has(id)) byId.set(id, entry as Entry);
    }
    for (let entry = byId.get(wanted ?? ''); entry !== undefined; entry = byId.get(wanted ?? '')) {
      byId.delete(entry.id); // a file of another tool may contain a cycle
      path.push(entry);
      wanted = entry.parentId;
      if (entry.type === 'message' && ++messages === count) return path.reverse();
    }
    if (wanted === null || !page.hasMore || lowest <= 1) return path.reverse();
    from = lowest - 1;
  }
}

/** The id of an entry by its position (`#3`) or by a unique start of its id; `last`: the newest message with text. */
export async function entryNamed(session: Session, name: string): Promise<string> {
  if (name.toLowerCase() === 'last') {
    const path = await readLast(session, PAGE);
    const said = path.findLast(({ message }) => isObject(message) && contentText(message['content']) !== '');
    if (said !== undefined) return said.id;
    throw failure('NOT_FOUND', 'session.empty');
  }
  const entries = await readEntries(session);
  const position = parsePosition(name);
  if (position !== undefined) return entryAt(entries, position).id;
  const fits = new Set<string>();
  for (const entry of entries) {
    if (entry.id === name) return name;
    if (entry.id.startsWith(name) && !isSideEntry(entry)) fits.add(entry.id);
  }
  const [only, ...others] = fits;
  if (only !== undefined && others.length === 0) return only;
  throw only === undefined
    ? failure('NOT_FOUND', 'entry.missing', { entry: name })
    : failure('AMBIGUOUS_REF', 'entry.ambiguous', { entry: name, entries: fits.size });
}
