import type { Store } from '../../store/port/store.ts';
import { blobSizes } from '../../transcript/blobs.ts';
import type { JsonObject } from '../../transcript/json.ts';

export interface SessionSize {
  readonly transcript: number;
  /** Of the large parts kept beside it. */
  readonly blobs: number;
}

/** Lines are megabytes at most, and no more of them than these are looked at together. */
const PAGE = 50;

/** How many bytes a session takes, read line by line: no store has to keep count, and the cost is that of reading it. */
export async function measureSession(store: Store, id: string): Promise<SessionSize> {
  const sizes = new Map<string, number>();
  let transcript = 0;
  for (let from = 1; ; ) {
    const { entries, hasMore } = await store.read(id, { from, limit: PAGE });
    for (const { entry } of entries) {
      transcript += Buffer.byteLength(JSON.stringify(entry)) + 1;
      for (const [name, bytes] of blobSizes([entry as unknown as JsonObject])) sizes.set(name, bytes);
    }
    const last = entries.at(-1);
    if (!hasMore || last === undefined) break;
    from = last.seq + 1;
  }
  return { transcript, blobs: [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0) };
}
