import { RepriseError } from '../../errors.ts';
import { blobNames } from '../../transcript/blobs.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Store } from '../port/store.ts';

/**
 * Loads the blobs that entries of a session reference, for `hydrateBlobs`. A missing or damaged blob is left out: its
 * preview remains, and `verify` reports it. All blobs are in memory at once, so pass the entries of a context, not of
 * a whole history.
 */
export async function loadBlobs(
  store: Pick<Store, 'blob'>,
  id: string,
  entries: Iterable<JsonObject>,
): Promise<Map<string, Uint8Array>> {
  const blobs = new Map<string, Uint8Array>();
  for (const name of blobNames(entries)) {
    try {
      blobs.set(name, await store.blob(id, name));
    } catch (error) {
      const isLost =
        error instanceof RepriseError && (error.code === 'NOT_FOUND' || error.code === 'STORE_CORRUPT');
      if (!isLost) throw error;
    }
  }
  return blobs;
}
