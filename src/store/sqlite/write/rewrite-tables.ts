import type { DatabaseSync } from 'node:sqlite';

const FILL_BYTES = 64 * 1024 * 1024;

interface Table {
  readonly name: string;
  /** 1 if the table is WITHOUT ROWID. */
  readonly wr: number;
}

/**
 * Rewrites every row of every table and overwrites all free pages, inside a transaction and with `secure_delete` on,
 * which zeroes the previous content of freed pages.
 */
export function rewriteTables(db: DatabaseSync): void {
  overwriteFreePages(db);
  // The triggers would renumber the changes of the inbox.
  const triggers = db
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all() as unknown as readonly { readonly name: string; readonly sql: string }[];
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${quoted(name)}`);
  const tables = db
    .prepare(
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'",
    )
    .all() as unknown as readonly Table[];
  for (const table of tables) rewrite(db, table);
  for (const { sql } of triggers) db.exec(sql);
}

/** Copies all rows with their row numbers, because some rows are looked up by number. */
function rewrite(db: DatabaseSync, { name, wr }: Table): void {
  const columns = db
    .prepare('SELECT name, type, pk FROM pragma_table_info(?)')
    .all(name) as unknown as readonly { readonly name: string; readonly type: string; readonly pk: number }[];
  const isNumbered = columns.some(({ type, pk }) => pk === 1 && type === 'INTEGER') || wr === 1;
  const names = [...(isNumbered ? [] : ['rowid']), ...columns.map((column) => quoted(column.name))].join(
    ', ',
  );
  db.exec(`
    CREATE TEMP TABLE rewritten AS SELECT ${names.replace(/^rowid/, 'rowid AS "rowid of it"')} FROM main.${quoted(name)};
    DELETE FROM main.${quoted(name)};
    INSERT INTO main.${quoted(name)} (${names}) SELECT * FROM temp.rewritten;
    DROP TABLE temp.rewritten;
  `);
}

/** Overwrites the free pages: a temporary table of zeros uses all of them and frees them again. */
function overwriteFreePages(db: DatabaseSync): void {
  const pragma = (name: string): number => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  let bytes = pragma('freelist_count') * pragma('page_size');
  if (bytes === 0) return;
  db.exec('CREATE TABLE overwritten (bytes BLOB)');
  const fill = db.prepare('INSERT INTO overwritten VALUES (zeroblob(?))');
  for (; bytes > 0; bytes -= FILL_BYTES) fill.run(Math.min(bytes, FILL_BYTES));
  db.exec('DROP TABLE overwritten');
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
