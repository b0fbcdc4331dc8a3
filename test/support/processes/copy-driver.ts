/**
 * A copy that ends in the middle: `node copy-driver.ts <migrate|restore> <from> <to home> <moment> <n>`. It kills itself
 * before or after the n-th page was written, or before the copy is finished.
 */
import { openStore } from '../../../src/config/open.ts';
import type { Store } from '../../../src/index.ts';
import { migrateStore } from '../../../src/interop/transfer/migrate-store.ts';
import { restoreBackup } from '../../../src/interop/transfer/restore-backup.ts';

const [what = '', from = '', home = '', moment = '', at = '1'] = process.argv.slice(2);

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  // The signal ends the process before anything else happens.
  for (;;);
};

const target = await openStore({ kind: 'jsonl', home });
let pages = 0;
const transfer: Store['transfer'] = {
  ...target.transfer,
  write: async (records, note) => {
    pages++;
    if (moment === 'before' && pages === Number(at)) die();
    // Not waited for: the kill meets it wherever it is.
    const writing = target.transfer.write(records, note);
    if (moment === 'within' && pages === Number(at)) setImmediate(die);
    await writing;
    if (moment === 'after' && pages === Number(at)) die();
  },
  finish: async (run) => (moment === 'finish' ? die() : target.transfer.finish(run)),
};
const mortal = new Proxy(target, {
  get: (_, name) => {
    if (name === 'transfer') return transfer;
    const member: unknown = Reflect.get(target, name);
    return typeof member === 'function' ? member.bind(target) : member;
  },
});
if (what === 'restore') await restoreBackup(from, mortal);
else {
  const source = await openStore({ kind: 'sqlite', home: from, readOnly: true });
  await migrateStore(source, mortal, { run: `migration of sqlite:${from}` });
}
