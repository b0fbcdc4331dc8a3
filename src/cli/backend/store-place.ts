import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { type LocalKind, storesIn } from '../../config/home-stores.ts';
import { openStore } from '../../config/open.ts';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { Store } from '../../store/port/store.ts';
import type { Home } from './home.ts';

/** A store as it is named on the command line: `sqlite`, `jsonl:folder`, `postgres://…`. */
export type StorePlace = LocalPlace | DatabasePlace;

interface LocalPlace {
  readonly kind: LocalKind;
  readonly home: string;
  /** One spelling for one place, without secrets. */
  readonly name: string;
}

interface DatabasePlace {
  readonly kind: 'postgres';
  /** Holds the password. */
  readonly url: string;
  readonly name: string;
}

/** A kind alone means the home, or the database, that is configured. */
export function parsePlace(text: string, home: Home): StorePlace {
  if (/^postgres(?:ql)?:\/\//.test(text)) return databaseAt(withoutPassword(text));
  const [kind = '', ...rest] = text.split(':');
  const folder = rest.join(':');
  if (kind === 'postgres' && folder === '') return placeOf({ ...home, kind });
  if (kind === 'jsonl' || kind === 'sqlite') return localAt(kind, folder === '' ? home.path : folder);
  throw failure('INVALID_INPUT', 'cli.badStore', { store: quoted(text.replace(/:\/\/.*/, '://…')) });
}

/** Every user of the machine can read command lines in the process list. */
function withoutPassword(url: string): string {
  if (!URL.canParse(url) || (new URL(url).password === '' && !new URL(url).searchParams.has('password')))
    return url;
  throw failure('INVALID_INPUT', 'cli.passwordShown');
}

/** The store that is configured. */
export function placeOf({ kind, path, config }: Home): StorePlace {
  if (kind !== 'postgres') return localAt(kind, path);
  const { url } = config.store;
  if (url !== undefined) return databaseAt(url);
  throw failure('INVALID_INPUT', 'store.noUrl');
}

function localAt(kind: LocalKind, folder: string): LocalPlace {
  const path = resolve(folder);
  // Of a folder that is not there yet: as it was named.
  const home = existsSync(path) ? realpathSync(path) : path;
  return { kind, home, name: `${kind}:${home}` };
}

function databaseAt(url: string): DatabasePlace {
  if (!URL.canParse(url)) {
    throw failure('INVALID_INPUT', 'postgres.badUrl');
  }
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = hostname === '' ? (searchParams.get('host') ?? 'localhost') : hostname;
  return { kind: 'postgres', url, name: `postgres://${host}:${port === '' ? '5432' : port}${pathname}` };
}

export function openPlace(place: StorePlace, { readOnly }: { readonly readOnly: boolean }): Promise<Store> {
  const { kind } = place;
  if (kind === 'postgres') return openStore({ kind, url: place.url, readOnly });
  return openStore({ kind, home: place.home, readOnly, signals: true });
}

/** Undefined where nothing was ever kept: it is looked at, never made. */
export async function openIfThere(place: StorePlace): Promise<Store | undefined> {
  if (place.kind !== 'postgres') return isThere(place) ? openPlace(place, { readOnly: true }) : undefined;
  try {
    return await openPlace(place, { readOnly: true });
  } catch (error) {
    if (error instanceof RepriseError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

function isThere({ kind, home }: LocalPlace): boolean {
  return storesIn(home).includes(kind);
}

/** What a person changes to use it. */
export function switchLines(place: StorePlace): string {
  const { kind } = place;
  if (kind === 'postgres')
    return 'To use it, set in the config file: "store":{"kind":"postgres"}\nand REPRISE_STORE_URL to its address, which has the password';
  const settings = JSON.stringify({ home: place.home, store: { kind } }).slice(1, -1);
  return `To use it, set in the config file: ${settings}\nor look into it first: reprise ls --home ${place.home} --store ${kind}`;
}
