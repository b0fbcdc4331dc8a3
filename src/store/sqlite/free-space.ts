import { statfsSync } from 'node:fs';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { DiskSpace } from '../port/stats.ts';

const MiB = 1024 * 1024;
const DEFAULT_FLOOR = 64 * MiB;
/** Share of a small disk, where the floor would be most of the disk. */
const DEFAULT_SHARE = 0.01;

/**
 * Checks whether the disk of a home has enough free space to start new work. Running work may use the rest, because
 * on a completely full disk even a failure could not be stored.
 */
export class FreeSpace {
  readonly #folder: string;
  readonly #floor: number | undefined;
  #seen: DiskSpace = { freeBytes: 0, minFreeBytes: 0 };

  constructor(folder: string, minFreeBytes?: number) {
    if (minFreeBytes !== undefined && !(minFreeBytes >= 0)) {
      throw failure('INVALID_INPUT', 'value.wrong', {
        field: 'minFreeBytes',
        value: quotedValue(minFreeBytes),
        expected: [{ is: 'number', min: 0 }],
      });
    }
    this.#folder = folder;
    this.#floor = minFreeBytes;
    this.look();
  }

  /** Asks the file system. It takes a few microseconds, too slow for every append. */
  look(): DiskSpace {
    try {
      const { bavail, blocks, bsize } = statfsSync(this.#folder);
      const minFreeBytes = this.#floor ?? Math.min(DEFAULT_FLOOR, Math.floor(blocks * bsize * DEFAULT_SHARE));
      this.#seen = { freeBytes: bavail * bsize, minFreeBytes };
    } catch {
      // The folder is missing or unreadable. The next write reports the cause more precisely.
    }
    return this.#seen;
  }

  /** Refuses if the last check and a new check both found too little space. */
  assertRoom(): void {
    if (hasRoom(this.#seen)) return;
    const seen = this.look();
    if (hasRoom(seen)) return;
    throw failure('STORE_FULL', 'store.noSpace', { ...seen, folder: this.#folder }, { details: { ...seen } });
  }
}

function hasRoom({ freeBytes, minFreeBytes }: DiskSpace): boolean {
  return freeBytes >= minFreeBytes;
}
