import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { MAX_LINE_BYTES } from './record-lines.ts';
import { copyDatabase, firstBytes } from './source-files.ts';

export type Row = Readonly<Record<string, unknown>>;

const OPEN =
  'is open in another program or was not closed; what that program has not committed yet is missing. Import it again later to add it.';

/** A copy of the SQLite database of another tool. Even a reader makes files beside a database, so no source is opened. */
export interface DatabaseCopy extends AsyncDisposable {
  /** Another program has the database open. */
  readonly problems: readonly string[];
  /** Opens the copy for one synchronous call. */
  look<T>(ask: (database: SourceDatabase) => T): T;
}

export interface SourceDatabase {
  readonly database: DatabaseSync;
  /** Real tables. Views and virtual tables run code of their author, so they are not read. */
  readonly tables: ReadonlySet<string>;
}

export async function openDatabaseCopy(path: string): Promise<DatabaseCopy> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-import-'));
  const dispose = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, 'copy.db');
    const isOpen = await copyDatabase(path, copy);
    // The pages that seem to be missing may be in the files beside it.
    if (!isOpen) await checkLength(copy, path);
    return {
      problems: isOpen ? [`${path} ${OPEN}`] : [],
      look: (ask) => look(copy, path, ask),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The names of the tables of a database file. */
export async function tablesOf(path: string): Promise<ReadonlySet<string>> {
  await using copy = await openDatabaseCopy(path);
  return copy.look(({ tables }) => tables);
}

function look<T>(copy: string, path: string, ask: (database: SourceDatabase) => T): T {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(copy, { enableForeignKeyConstraints: false, allowExtension: false });
    // No function that the schema names runs, and no value is larger than a line may be.
    database.exec('PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON');
    const rows = database.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'table'").all();
    const real = rows.filter(({ sql }) => !/^\s*CREATE\s+VIRTUAL/i.test(String(sql)));
    return ask({ database, tables: new Set(real.map(({ name }) => String(name))) });
  } catch (error) {
    if (error instanceof RepriseError) throw error;
    const { message: reason } = error as Error;
    throw failure('INVALID_INPUT', 'import.damagedDatabase', { path, reason }, { cause: error });
  } finally {
    database?.close();
  }
}

/** A column that is read only up to the size of a line: a row of a gigabyte must not fill the memory. */
export function limited(column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${MAX_LINE_BYTES} THEN ${column} END AS ${column}`;
}

/** The header of a database says how many pages it has; a copy that was cut off has fewer. */
async function checkLength(copy: string, path: string): Promise<void> {
  const header = await firstBytes(copy, 100);
  const { size } = await stat(copy);
  const whole = Buffer.concat([header, Buffer.alloc(100 - header.length)]);
  const pageBytes = whole.readUInt16BE(16) === 1 ? 65_536 : whole.readUInt16BE(16);
  // SQLite sets these two when it writes the number of pages. Where they differ, the number is not valid.
  const isCounted =
    whole.readUInt32BE(24) === whole.readUInt32BE(92) && Number.isInteger(Math.log2(pageBytes));
  const expected = isCounted ? Math.max(100, pageBytes * whole.readUInt32BE(28)) : 100;
  if (size < expected) throw failure('INVALID_INPUT', 'import.cutDatabase', { path, bytes: size, expected });
}
