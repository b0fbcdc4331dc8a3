import { execFileSync } from 'node:child_process';
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Account } from './postgres-binaries.ts';

/**
 * A copy of the data of a running server that follows it from then on: what `pg_basebackup` would make, which the package
 * does not have. The folder is there and empty.
 */
export async function copyAsStandby(url: string, data: string, account: Account): Promise<void> {
  const primary = new pg.Client({ connectionString: url });
  await primary.connect();
  try {
    const { rows } = await primary.query("SELECT current_setting('data_directory') AS folder");
    await primary.query("SELECT pg_backup_start('standby', fast => true)");
    execFileSync('cp', ['-a', `${rows[0].folder}/.`, data]);
    const { rows: backup } = await primary.query(
      'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
    );
    // Of the process that runs the other one.
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(data, name), { force: true });
    const { hostname, port, username } = new URL(url);
    const follow = `primary_conninfo = 'host=${hostname} port=${port} user=${username}'\n`;
    for (const [name, text] of [
      ['backup_label', backup[0].labelfile],
      ['standby.signal', ''],
      ['postgresql.auto.conf', follow],
    ]) {
      const file = join(data, name);
      writeFileSync(file, text, { mode: 0o600 });
      if ('uid' in account) chownSync(file, account.uid as number, account.gid as number);
    }
  } finally {
    await primary.end();
  }
}
