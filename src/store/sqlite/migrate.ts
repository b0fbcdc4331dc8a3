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

/** Makes the tables of an empty database, or brings those of an older version forward. */
export function prepareSchema(db: Database, { path, home }: SchemaOptions): void {
  db.transaction(() => {
    const isNew = db.row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") === undefined;
    const version = isNew ? 0 : Number(meta(db, 'schema'));
    if (!isNew && !(version >= 1)) throw damage('it does not say its version');
    for (const step of MIGRATIONS.slice(version)) db.script(step);
    if (version < SCHEMA_VERSION)
      db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', 'schema', String(SCHEMA_VERSION));
    if (!isNew && !hasOurColumns(db)) throw damage('its tables are not those of its version');
    if (path === ':memory:') return;
    claimIdentity(db, path);
    if (home !== undefined) forgetOldJudgements(db);
    if (isNew && (home === undefined || !existsSync(join(home, 'agents')))) markSurveyed(db);
    // Read by every open anyway; damage in them is better met here, where it can be helped.
    if (home !== undefined) db.row('SELECT count(*) FROM journal');
    db.row("SELECT count(*) FROM inbox WHERE state IN ('accepted', 'running')");
  });
}

/** Raised when survey.ts comes to see files differently: then every file that is no session is inspected once more. */
const SURVEY_VERSION = '2';

function forgetOldJudgements(db: Database): void {
  if (meta(db, 'survey') === SURVEY_VERSION) return;
  db.run('DELETE FROM strangers');
  setMeta(db, 'folders', '{}');
  setMeta(db, 'survey', SURVEY_VERSION);
}

/** Whether our questions can be asked of a database another version made. */
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
