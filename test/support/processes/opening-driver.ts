/**
 * Opens a home once, so that a test can kill it on the way: `node opening-driver.ts <work> <kind> <home> [from]`.
 * `open` uses the store, which makes what is missing; `restore` and `migrate` copy a backup or a SQLite store into it.
 * Prints a line after each acknowledged step.
 */
import { writeSync } from 'node:fs';
import { openStore } from '../../../src/config/open.ts';
import { copyInto, MESSAGE } from './opening-copies.ts';

const [work, kind, home = '', from = ''] = process.argv.slice(2);
if (work !== 'open' && work !== 'restore' && work !== 'migrate') throw new Error(`no such work: ${work}`);
if (kind !== 'jsonl' && kind !== 'sqlite') throw new Error(`no such store: ${kind}`);

const store = await openStore({ kind, home });
if (work === 'open') {
  await store.create({ id: 'new', key: 'agent:main:new' });
  await store.append('new', [MESSAGE]);
  writeSync(1, 'appended\n');
  await store.search({ text: 'needle' });
} else {
  await copyInto(store, work, from);
  writeSync(1, 'copied\n');
}
await store[Symbol.asyncDispose]();
