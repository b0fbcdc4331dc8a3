import { openStore } from '../../../src/config/open.ts';
import type { Store } from '../../../src/index.ts';
import { migrateStore } from '../../../src/interop/transfer/migrate-store.ts';
import { restoreBackup } from '../../../src/interop/transfer/restore-backup.ts';

export const MESSAGE = {
  type: 'message',
  message: { role: 'user', content: 'a needle in the hay' },
} as const;

/** A restore of the backup, or a migration of the SQLite store, at `from`; run again it continues. */
export async function copyInto(target: Store, work: 'restore' | 'migrate', from: string): Promise<string> {
  if (work === 'restore') return (await restoreBackup(from, target)).status;
  await using source = await openStore({ kind: 'sqlite', home: from, readOnly: true });
  return (await migrateStore(source, target, { run: `migration of sqlite:${from}` })).status;
}
