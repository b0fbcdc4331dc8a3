import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { RepriseError } from '../../src/errors.ts';
import { compileC, compilerSupport, type Support } from './compile.ts';

export type FileSystem = 'ext4' | 'xfs';

/**
 * What happens to the file system's journal at the cut: `kept` writes it out first, so that metadata is newer than
 * data; `lost` drops it too.
 */
export type JournalAtCut = 'kept' | 'lost';

export interface PowerCutDiskOptions {
  readonly fileSystem?: FileSystem;
  readonly megabytes?: number;
}

/**
 * A file system in a loop-mounted image. A cut drops everything that was not synced, like a power cut. It does not
 * model a disk that lies about its cache, because data that reached the image stays there.
 */
export interface PowerCutDisk extends AsyncDisposable {
  readonly folder: string;
  /**
   * Cuts immediately: every later call on the file system fails. Stop the processes that use it first (SIGSTOP): an
   * fsync that the cut interrupts may still return success, which no process sees after a real power cut.
   */
  cut(journal: JournalAtCut): void;
  /** Mounts again, which replays the journal. Processes with open files there must have ended. */
  restart(): Promise<void>;
}

/** The ioctl comes from XFS; ext4 took it over with its number and flags. */
const SHUTDOWN_SOURCE = `
#include <fcntl.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
int main(int count, char **arguments) {
  if (count != 3) return 2;
  int folder = open(arguments[1], O_RDONLY);
  __u32 flag = (__u32)atoi(arguments[2]);
  if (folder >= 0 && ioctl(folder, _IOR('X', 125, __u32), &flag) == 0) return 0;
  perror(arguments[1]);
  return 1;
}
`;
const SHUTDOWN_FLAGS: Readonly<Record<JournalAtCut, string>> = { kept: '1', lost: '2' };
const MKFS: Readonly<Record<FileSystem, readonly [string, ...string[]]>> = {
  ext4: ['mkfs.ext4', '-F', '-q'],
  xfs: ['mkfs.xfs', '-f', '-q'],
};
/** The smallest sizes that current mkfs versions accept. */
const DEFAULT_MEGABYTES: Readonly<Record<FileSystem, number>> = { ext4: 256, xfs: 320 };
const UNMOUNT_MS = 10_000;

const probed = new Map<FileSystem, Promise<Support>>();

/** Tests the support once: mounts an image, cuts, mounts again. */
export function powerCutSupport(fileSystem: FileSystem = 'ext4'): Promise<Support> {
  const known = probed.get(fileSystem) ?? probe(fileSystem);
  probed.set(fileSystem, known);
  return known;
}

export async function openPowerCutDisk(options: PowerCutDiskOptions = {}): Promise<PowerCutDisk> {
  const { fileSystem = 'ext4', megabytes = DEFAULT_MEGABYTES[fileSystem] } = options;
  const shutdown = compileC({ name: 'shutdown-file-system', source: SHUTDOWN_SOURCE });
  const root = mkdtempSync(join(tmpdir(), 'reprise-power-cut-'));
  const image = join(root, 'image');
  const folder = join(root, 'disk');
  let mounted = false;
  const mount = (): void => {
    run('mount', '-o', 'loop', '-t', fileSystem, image, folder);
    mounted = true;
  };
  const unmount = async (): Promise<void> => {
    // A process that was just killed may still be closing its files.
    const deadline = performance.now() + UNMOUNT_MS;
    while (mounted) {
      try {
        run('umount', folder);
        mounted = false;
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await wait(20);
      }
    }
  };
  try {
    mkdirSync(folder);
    makeImage(image, megabytes);
    run(...MKFS[fileSystem], image);
    mount();
  } catch (error) {
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
  return {
    folder,
    cut: (journal) => run(shutdown, folder, SHUTDOWN_FLAGS[journal]),
    async restart() {
      await unmount();
      mount();
    },
    async [Symbol.asyncDispose]() {
      await unmount();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function probe(fileSystem: FileSystem): Promise<Support> {
  const compiler = compilerSupport();
  if (!compiler.supported) return compiler;
  if (process.getuid?.() !== 0) return { supported: false, reason: 'needs root to mount an image' };
  try {
    await using disk = await openPowerCutDisk({ fileSystem });
    disk.cut('lost');
    await disk.restart();
    return { supported: true };
  } catch (error) {
    return { supported: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Creates a sparse image, which only takes the space that is written. */
function makeImage(path: string, megabytes: number): void {
  const file = openSync(path, 'wx', 0o600);
  ftruncateSync(file, megabytes * 1024 * 1024);
  closeSync(file);
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return;
  const why = error ? error.message : stderr.trim();
  throw new RepriseError('STORE_FAILED', `${command} failed: ${why}`, { details: { args } });
}
