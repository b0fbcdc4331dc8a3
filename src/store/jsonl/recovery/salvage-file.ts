import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Database } from '../../sqlite/database.ts';
import { keepPrivate } from '../../sqlite/home.ts';
import { prepareSchema } from '../../sqlite/migrate.ts';
import { MIGRATIONS } from '../../sqlite/schema.ts';
import { syncFolder } from '../transcript-files.ts';
import { type Salvaged, salvage } from './salvage.ts';

const SIDE_FILES = ['', '-wal', '-shm'];
const PAGE = 4096;

interface SalvageOptions {
  readonly path: string;
  readonly home?: string;
}

/**
 * Moves a damaged control.db to quarantine and replaces it with a new one that has everything readable. The new one
 * is complete before any file moves, so after an interruption one of them is in place; until then its name is
 * `ready`.
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
    const schema = newSchema(`${target}-schema`);
    source = openDamaged(path, schema.tables) ?? openWithSchema(path, copy, schema);
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

function openDamaged(path: string, expected: Schema['tables']): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 1000 });
    const tables = tablesOf(db);
    if ([...expected].every(([name, places]) => places.has(tables.get(name)))) return db;
  } catch {
    // Not readable in this form.
  }
  db?.close();
  return undefined;
}

/** The first tables as the first and the last migration create them, and the pages that define them. */
interface Schema {
  readonly tables: ReadonlyMap<unknown, ReadonlySet<unknown>>;
  readonly pages: ReadonlyMap<number, Buffer>;
}

const TABLES =
  "SELECT name, rootpage || ':' || sql AS place FROM sqlite_schema WHERE type = 'table' AND name <> 'strangers'";

/**
 * SQLite finds everything through its first pages, and ours are always the same: the first migration creates the
 * tables of every home at the same pages. If they are damaged, a copy of the file gets those of a new one.
 */
function openWithSchema(path: string, copy: string, { pages }: Schema): DatabaseSync | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < 2 * PAGE) return undefined;
  for (const suffix of ['', '-wal']) {
    if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  }
  const fd = openSync(copy, 'r+');
  try {
    for (const [number, page] of pages) {
      if (number === 1) {
        // The header contains the page count. The list of free pages is cleared, because nothing will be written.
        page.writeUInt32BE(Math.floor(size / PAGE), 28);
        page.writeUInt32BE(0, 32);
        page.writeUInt32BE(0, 36);
      }
      writeSync(fd, page, 0, PAGE, (number - 1) * PAGE);
    }
  } finally {
    closeSync(fd);
  }
  return openDamaged(copy, new Map());
}

function tablesOf(db: DatabaseSync): Map<unknown, unknown> {
  const rows = db.prepare(TABLES).all();
  return new Map(rows.map(({ name, place }) => [name, place]));
}

/**
 * The first migration, but with the columns that the inbox got later; older rows get the defaults. The text has the
 * same length as the original, so that every page is where the first migration puts it.
 */
function readableStep(): string {
  const [first = ''] = MIGRATIONS;
  const start = first.indexOf('CREATE TABLE inbox (');
  const length = first.indexOf(';', start) - start;
  return `${first.slice(0, start)}${INBOX.padEnd(length - 1)})${first.slice(start + length)}`;
}

const INBOX = `CREATE TABLE inbox (number INTEGER PRIMARY KEY, id UNIQUE, session_id, session_key, state, body, detail,
attempts, created_at, class DEFAULT 'message', group_name, carries, change, turn_id`;

function newSchema(path: string): Schema {
  const make = (script: string): ReturnType<typeof tablesOf> => {
    keepPrivate(path);
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA page_size=${PAGE}; PRAGMA journal_mode=WAL; BEGIN; ${script}; COMMIT`);
    const tables = tablesOf(db);
    db.close();
    return tables;
  };
  const remove = (): void => {
    for (const suffix of SIDE_FILES) rmSync(path + suffix, { force: true });
  };
  try {
    const last = make(MIGRATIONS.join(';'));
    remove();
    const first = make(MIGRATIONS[0] ?? '');
    remove();
    make(readableStep());
    const bytes = readFileSync(path);
    const pageAt = (number: number): Buffer => bytes.subarray((number - 1) * PAGE, number * PAGE);
    const numbers = [1, ...childrenOf(pageAt(1), 100)];
    return {
      tables: new Map([...first].map(([name, place]) => [name, new Set([place, last.get(name)])])),
      pages: new Map(numbers.map((number) => [number, pageAt(number)])),
    };
  } finally {
    remove();
  }
}

/** The child pages of an inner table page, by SQLite's file format; empty for a leaf. */
function childrenOf(page: Buffer, header: number): number[] {
  const INNER_TABLE = 0x05;
  if (page[header] !== INNER_TABLE) return [];
  const cells = page.readUInt16BE(header + 3);
  const left = Array.from({ length: cells }, (_, i) =>
    page.readUInt32BE(page.readUInt16BE(header + 12 + 2 * i)),
  );
  return [...left, page.readUInt32BE(header + 8)];
}
