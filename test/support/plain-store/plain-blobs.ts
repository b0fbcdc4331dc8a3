import { createHash } from 'node:crypto';
import { RepriseError } from '../../../src/errors.ts';
import { blobHash, blobNames, extractBlobs } from '../../../src/transcript/blobs.ts';
import type { Entry, SealInput } from '../../../src/transcript/entry.ts';
import { encodeLine } from '../../../src/transcript/line.ts';

/** By the hash of their bytes. */
export type PlainBlobs = Map<string, Uint8Array>;

/** The sealed line of an entry; its large parts go into `blobs`, which holds everything the line may name. */
export function encodeWithBlobs(entry: Entry, seal: SealInput, blobs: PlainBlobs): string {
  encodeLine(entry, seal);
  const short = extractBlobs(entry, (bytes) => {
    const hash = createHash('sha256').update(bytes).digest('hex');
    blobs.set(hash, bytes);
    return `sha256:${hash}`;
  });
  for (const name of blobNames([short]))
    if (!blobs.has(blobHash(name))) throw new RepriseError('INVALID_INPUT', `no blob ${name}`);
  return encodeLine(short, seal);
}
