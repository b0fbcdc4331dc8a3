/** Copies a store and a backup of it, and prints the most memory this process has had: `node copy-memory.ts <folder>`. */
import { join } from 'node:path';
import { openStore } from '../../../src/config/open.ts';
import { migrateStore } from '../../../src/interop/transfer/migrate-store.ts';
import { restoreBackup } from '../../../src/interop/transfer/restore-backup.ts';
import { writeBackup } from '../../../src/interop/transfer/write-backup.ts';

const [folder = ''] = process.argv.slice(2);
const file = join(folder, 'backup.jsonl');
const source = await openStore({ kind: 'jsonl', home: join(folder, 'source'), readOnly: true });
const target = await openStore({ kind: 'sqlite', home: join(folder, 'target'), durability: 'os' });
const report = await migrateStore(source, target, { run: 'size' });
await writeBackup(target, file, { force: true });
await target[Symbol.asyncDispose]();
const restored = await openStore({ kind: 'jsonl', home: join(folder, 'restored'), durability: 'os' });
const { status } = await restoreBackup(file, restored);
await restored[Symbol.asyncDispose]();
await source[Symbol.asyncDispose]();
const { maxRSS } = process.resourceUsage();
console.log(JSON.stringify({ migrate: report.status, restore: status, bytes: report.digest.bytes, maxRSS }));
