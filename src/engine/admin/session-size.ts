import type { Store } from '../../store/port/store.ts';
import { blobSizes } from '../../transcript/blobs.ts';
import type { JsonObject } from '../../transcript/json.ts';

export interface SessionSize {
  readonly transcript: number;
  /** Size of the large parts stored beside the transcript. */
  readonly blobs: number;
}

/** A line may take megabytes, so no more than this many are in memory at once. */
const PAGE = 50;

/** Measures the size of a session by reading it line by line, so that stores need no counters. */
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
