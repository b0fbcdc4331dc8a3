import { statfsSync } from 'node:fs';
import { RepriseError } from '../../errors.ts';
import type { DiskSpace } from '../port/store.ts';

const MiB = 1024 * 1024;
const DEFAULT_FLOOR = 64 * MiB;
/** Of a disk so small that the floor would be most of it. */
const DEFAULT_SHARE = 0.01;

/**
 * How much is free on the disk of a home, and whether that is enough to begin something new. What is running may
 * end on the rest: a disk that is full to the last block could not even say so.
 */
export class FreeSpace {
  readonly #folder: string;
  readonly #floor: number | undefined;
  #seen: DiskSpace = { freeBytes: 0, minFreeBytes: 0 };

  constructor(folder: string, minFreeBytes?: number) {
    if (minFreeBytes !== undefined && !(minFreeBytes >= 0)) {
      throw new RepriseError('INVALID_INPUT', `minFreeBytes is a number of bytes, not ${minFreeBytes}`);
    }
    this.#folder = folder;
    this.#floor = minFreeBytes;
    this.look();
  }

  /** Asks the file system: a few microseconds, but not for every append. */
  look(): DiskSpace {
    try {
      const { bavail, blocks, bsize } = statfsSync(this.#folder);
      const minFreeBytes = this.#floor ?? Math.min(DEFAULT_FLOOR, Math.floor(blocks * bsize * DEFAULT_SHARE));
      this.#seen = { freeBytes: bavail * bsize, minFreeBytes };
    } catch {
      // A folder that is gone or cannot be asked: the next write says better what that means.
    }
    return this.#seen;
  }

  /** Refuses when too little was free at the last look, and still is: nobody is refused for what is over. */
  assertRoom(): void {
    if (hasRoom(this.#seen)) return;
    const seen = this.look();
    if (hasRoom(seen)) return;
    const { freeBytes, minFreeBytes } = seen;
    throw new RepriseError('STORE_FULL', `${mib(freeBytes)} free, ${mib(minFreeBytes)} needed`, {
      details: { ...seen, next: `Free ${mib(minFreeBytes - freeBytes)} on the disk of ${this.#folder}.` },
    });
  }
}

function hasRoom({ freeBytes, minFreeBytes }: DiskSpace): boolean {
  return freeBytes >= minFreeBytes;
}

function mib(bytes: number): string {
  return `${(bytes / MiB).toFixed(1)} MiB`;
}
