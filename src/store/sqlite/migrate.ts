import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Database } from './database.ts';
import { claimIdentity, markSurveyed, meta, setMeta } from './identity.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts';
import { damage } from './store-error.ts';

interface SchemaOptions {
  readonly path: string;
  readonly home?: string;
}

/** Creates the tables of an empty database, or migrates an older one. */
export function prepareSchema(db: Database, { path, home }: SchemaOptions): void {
  db.transaction(() => {
    const isNew = db.row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") === undefined;
    const version = isNew ? 0 : Number(meta(db, 'schema'));
    if (!isNew && !(version >= 1)) throw damage('noVersion');
    for (const step of MIGRATIONS.slice(version)) db.script(step);
    if (version < SCHEMA_VERSION)
      db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', 'schema', String(SCHEMA_VERSION));
    if (!isNew && !hasOurColumns(db)) throw damage('otherTables');
    if (path === ':memory:') return;
    claimIdentity(db, path);
    if (home !== undefined) forgetOldJudgements(db);
    if (isNew && (home === undefined || !existsSync(join(home, 'agents')))) markSurveyed(db);
    // Every open reads these tables anyway. If they are damaged, it is better to fail here, where salvage follows.
    if (home !== undefined) db.row('SELECT count(*) FROM journal');
    db.row("SELECT count(*) FROM inbox WHERE state IN ('accepted', 'running', 'waiting')");
  });
}

/**
 * Increase it when survey.ts classifies files differently; every file that is not a session is then inspected again.
 */
const SURVEY_VERSION = '2';

function forgetOldJudgements(db: Database): void {
  if (meta(db, 'survey') === SURVEY_VERSION) return;
  db.run('DELETE FROM strangers');
  setMeta(db, 'folders', '{}');
  setMeta(db, 'survey', SURVEY_VERSION);
}

/** Whether a database of another version has all tables and columns that our queries need. */
export function hasOurColumns(db: Database): boolean {
  const ours = new DatabaseSync(':memory:');
  try {
    for (const step of MIGRATIONS) ours.exec(step);
    const columns =
      "SELECT m.name AS tab, p.name AS col FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table'";
    const theirs = new Set(
      db.rows<{ tab: string; col: string }>(columns).map(({ tab, col }) => `${tab}.${col}`),
    );
    return ours
      .prepare(columns)
      .all()
      .every(({ tab, col }) => theirs.has(`${String(tab)}.${String(col)}`));
  } finally {
    ours.close();
  }
}
