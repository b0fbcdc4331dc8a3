import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Database } from './database.ts';
import { keepPrivate } from './home.ts';
import { prepareSchema } from './migrate.ts';
import { type Salvaged, salvage } from './salvage.ts';
import { MIGRATIONS } from './schema.ts';
import { syncFolder } from './transcript-files.ts';

const SIDE_FILES = ['', '-wal', '-shm'];
const PAGE = 4096;

interface SalvageOptions {
  readonly path: string;
  readonly home?: string;
}

/**
 * A damaged control.db is kept in quarantine, and a new one with all it still says takes its place. The new one is
 * complete before anything moves, so a kill at any point leaves the one or the other; `ready` is its name until then.
 */
export function replaceBySalvaged({ path, home }: SalvageOptions, ready: string): void {
  const folder = join(dirname(path), 'quarantine');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replace(/[:.]/g, '-');
  if (!existsSync(ready)) {
    const making = `${path}.salvaging`;
    for (const suffix of SIDE_FILES) rmSync(making + suffix, { force: true });
    const report = salvageInto(making, path, home);
    const file = join(folder, `${basename(path)}.${stamp}.salvage.json`);
    writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), ...report }, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    renameSync(making, ready);
    syncFolder(dirname(path));
  }
  for (const suffix of SIDE_FILES) {
    if (existsSync(path + suffix))
      renameSync(path + suffix, join(folder, `${basename(path)}${suffix}.${stamp}`));
  }
  renameSync(ready, path);
  syncFolder(folder);
  syncFolder(dirname(path));
}

function salvageInto(target: string, path: string, home: string | undefined): Salvaged {
  keepPrivate(target);
  const into = new Database({ path: target, durability: 'disk' });
  const copy = `${target}-copy`;
  let source: DatabaseSync | undefined;
  try {
    prepareSchema(into, { path: target, ...(home !== undefined && { home }) });
    source = openDamaged(path) ?? openWithNewFirstPage(path, copy);
    const from = source;
    return from === undefined
      ? { kept: {}, lost: [`all of ${basename(path)}: it is not a database any more`] }
      : into.transaction(() => salvage(from, into, home === undefined));
  } finally {
    source?.close();
    into.checkpoint();
    into.close();
    for (const suffix of SIDE_FILES) rmSync(copy + suffix, { force: true });
  }
}

function openDamaged(path: string): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 1000 });
    // Both: without its tables nothing can be asked, and the first page may be all that is wrong.
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name IN ('journal', 'inbox') LIMIT 2").all();
    db.prepare('SELECT 1 FROM journal LIMIT 0').all();
    return db;
  } catch {
    // Not readable as it is.
    db?.close();
    return undefined;
  }
}

/**
 * SQLite finds everything by the first page. Ours always says the same, because the same steps make the tables of
 * every home: a copy of the file gets the first page of a new one.
 */
function openWithNewFirstPage(path: string, copy: string): DatabaseSync | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 2 * PAGE) return undefined;
  for (const suffix of ['', '-wal']) {
    if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  }
  const fd = openSync(copy, 'r+');
  try {
    const page = firstPage(`${copy}-new`);
    // The header counts the pages of its file.
    page.writeUInt32BE(Math.floor(size / PAGE), 28);
    // Pages that are free are not looked for: nothing is going to be written.
    page.writeUInt32BE(0, 32);
    page.writeUInt32BE(0, 36);
    writeSync(fd, page, 0, PAGE, 0);
  } finally {
    closeSync(fd);
  }
  return openDamaged(copy);
}

function firstPage(path: string): Buffer {
  const page = Buffer.alloc(PAGE);
  keepPrivate(path);
  try {
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA page_size=${PAGE}; PRAGMA journal_mode=WAL; BEGIN`);
    for (const step of MIGRATIONS) db.exec(step);
    db.exec('COMMIT');
    db.close();
    const fd = openSync(path, 'r');
    readSync(fd, page, 0, PAGE, 0);
    closeSync(fd);
  } finally {
    for (const suffix of SIDE_FILES) rmSync(path + suffix, { force: true });
  }
  return page;
}
