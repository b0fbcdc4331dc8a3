/**
 * Runs a store in a process that a test can kill. Stdin has one JSON command per line; stdout has one answer line for
 * each, in order of completion, with the command's `n`. The first line says whether the store is open. Commands run
 * concurrently; the end of input finishes the running ones and exits with 0.
 *
 *   node driver.ts --store memory|jsonl|sqlite|postgres --home DIR [--url URL] [--durability disk|os] [--now ISO]
 *                  [--min-free BYTES]
 */
import { parseArgs } from 'node:util';
import { type OpenStoreOptions, openStore, type StoreKind } from '../src/config/open.ts';
import { RepriseError } from '../src/errors.ts';
import type { Store } from '../src/store/port/store.ts';
import { failure, print, serveStore } from './crash/serve.ts';

const STORE_KINDS: readonly string[] = ['memory', 'jsonl', 'sqlite', 'postgres'] satisfies StoreKind[];

function parseArguments(args: string[]): OpenStoreOptions {
  const option = { type: 'string' } as const;
  const options = {
    store: option,
    home: option,
    url: option,
    durability: option,
    now: option,
    'min-free': option,
  };
  let values: { readonly [N in keyof typeof options]?: string | undefined };
  try {
    values = parseArgs({ args, options }).values;
  } catch (cause) {
    throw new RepriseError('INVALID_INPUT', 'unknown argument', { cause, details: { error: String(cause) } });
  }
  const { store = 'jsonl', home, url, durability, now, 'min-free': minFree } = values;
  if (!STORE_KINDS.includes(store)) {
    throw new RepriseError('INVALID_INPUT', `no such store: ${store}`, { details: { store } });
  }
  if (durability !== undefined && durability !== 'disk' && durability !== 'os') {
    throw new RepriseError('INVALID_INPUT', '--durability is disk or os', { details: { durability } });
  }
  return {
    kind: store as StoreKind,
    ...(home === undefined ? {} : { home }),
    ...(url === undefined ? {} : { url }),
    ...(durability === undefined ? {} : { durability }),
    ...(now === undefined ? {} : { now }),
    ...(minFree === undefined ? {} : { minFreeBytes: Number(minFree) }),
    signals: true,
  };
}

async function main(): Promise<number> {
  let store: Store;
  try {
    store = await openStore(parseArguments(process.argv.slice(2)));
  } catch (error) {
    await print(JSON.stringify({ ready: false, ...failure(error) }));
    return error instanceof RepriseError ? error.exitCode : 1;
  }
  await print('{"ready":true}');
  try {
    await serveStore(store);
  } finally {
    await store[Symbol.asyncDispose]();
  }
  return 0;
}

process.exit(await main());
