import { existsSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openStore } from '../config/open.ts';
import { RepriseError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { type Home, KINDS } from './home.ts';

/** A store as it is named on the command line: `sqlite`, `jsonl:folder`, `postgres://…`. */
export interface StorePlace {
  readonly kind: 'jsonl' | 'sqlite';
  readonly home: string;
  /** One spelling for one place, without secrets. */
  readonly name: string;
}

/** A kind alone means the home that is configured. */
export function parsePlace(text: string, home: Pick<Home, 'path'>): StorePlace {
  const [kind = '', ...rest] = text.split(':');
  if (kind !== 'jsonl' && kind !== 'sqlite') {
    throw new RepriseError('INVALID_INPUT', `"${text}" names no store`, {
      details: { next: 'Write jsonl, sqlite, jsonl:<folder> or sqlite:<folder>.' },
    });
  }
  const folder = rest.join(':');
  return placeOf(kind, folder === '' ? home.path : folder);
}

export function placeOf(kind: StorePlace['kind'], folder: string): StorePlace {
  const home = realpathOf(resolve(folder));
  return { kind, home, name: `${kind}:${home}` };
}

/** Of a folder that is not there yet: as it was named. */
function realpathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

export function openPlace(
  { kind, home }: StorePlace,
  options: { readonly readOnly: boolean },
): Promise<Store> {
  return openStore({ kind, home, ...options, signals: true });
}

/** Whether anything was ever kept there. Asked before opening, which would make it. */
export function isThere({ kind, home }: StorePlace): boolean {
  return existsSync(join(home, KINDS[kind])) || (kind === 'jsonl' && existsSync(join(home, 'agents')));
}

/** What a person changes to use it. */
export function switchLines({ kind, home }: StorePlace): string {
  const settings = JSON.stringify({ home, store: { kind } }).slice(1, -1);
  return `To use it, set in the config file: ${settings}\nor look into it first: reprise ls --home ${home} --store ${kind}`;
}
