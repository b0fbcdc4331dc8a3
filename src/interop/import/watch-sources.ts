import { type FSWatcher, watch } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../../store/port/store.ts';
import { type MachinePlace, openPlaces, treeStamp } from './machine-sources.ts';
import { type ImportOptions, type ImportReport, runImport } from './run-import.ts';

export interface WatchOptions extends ImportOptions {
  readonly signal: AbortSignal;
  /** Looks for new folders of tools too. */
  readonly find: () => Promise<readonly MachinePlace[]>;
  readonly onReport: (report: ImportReport) => void;
  /** Time between two looks without an event of the file system. */
  readonly pollMs?: number;
}

const POLL_MS = 2000;
/** Work is followed by four times as long a pause, so a watch takes at most a fifth of a core. */
const PAUSE_RATIO = 4;
/** Several events of one write are one event. */
const SETTLE_MS = 100;

/** Imports what the tools on this machine write, until the signal aborts. Places that did not change are not opened. */
export async function watchSources(store: Store, options: WatchOptions): Promise<void> {
  const { signal, find, onReport, pollMs = POLL_MS } = options;
  const stamps = new Map<string, string>();
  const watchers = new Map<string, FSWatcher>();
  let wake: () => void = () => undefined;
  try {
    while (!signal.aborted) {
      const began = performance.now();
      const changed: MachinePlace[] = [];
      for (const place of await find()) {
        const name = `${place.importer.name} ${place.path}`;
        const stamp = await treeStamp(place.path);
        if (stamps.get(name) !== stamp) changed.push(place);
        stamps.set(name, stamp);
        if (!watchers.has(place.path))
          watchers.set(
            place.path,
            watchPlace(place.path, () => wake()),
          );
      }
      if (changed.length > 0) {
        const source = await openPlaces(changed);
        try {
          onReport(await runImport(store, source, { ...options, skipUnchanged: true, dryRun: false }));
        } finally {
          await source[Symbol.asyncDispose]?.();
        }
      }
      await pause((performance.now() - began) * PAUSE_RATIO, signal);
      const event = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([event.then(() => pause(SETTLE_MS, signal)), pause(pollMs, signal)]);
    }
  } finally {
    for (const watcher of watchers.values()) watcher.close();
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Where the file system has no events, or too many folders for them, the poll finds the change. */
function watchPlace(path: string, onEvent: () => void): FSWatcher {
  const watcher = watch(path, { recursive: true, persistent: false }, onEvent);
  watcher.on('error', () => watcher.close());
  return watcher;
}
