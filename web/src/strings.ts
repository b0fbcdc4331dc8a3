import { signal } from '@preact/signals';
import { EN } from './strings-en.ts';
import type { EN_LATER } from './strings-en-later.ts';

export type Language = 'en' | 'zh';
export type FirstWords = Readonly<Record<keyof typeof EN, string>>;
export type LaterWords = Readonly<Record<keyof typeof EN_LATER, string>>;
export type StringName = keyof FirstWords | keyof LaterWords;

interface Tables {
  readonly first: () => Promise<FirstWords>;
  readonly later: () => Promise<LaterWords>;
}

const TABLES: Readonly<Record<Language, Tables>> = {
  en: {
    first: async () => EN,
    later: () => import('./strings-en-later.ts').then((table) => table.EN_LATER),
  },
  zh: {
    first: () => import('./strings-zh.ts').then(({ ZH }) => ZH),
    later: () => import('./strings-zh-later.ts').then((table) => table.ZH_LATER),
  },
};
const KEY = 'reprise.language';

export const language = signal<Language>('en');
const words = signal<Readonly<Partial<Record<StringName, string>>>>(EN);
let later: Promise<void> | undefined;

/** What was chosen here, else what the browser prefers. */
export async function loadLanguage(): Promise<void> {
  const chosen = localStorage.getItem(KEY) ?? navigator.language.toLowerCase().slice(0, 2);
  if (chosen === 'zh') await useLanguage('zh');
}

export async function setLanguage(chosen: Language): Promise<void> {
  localStorage.setItem(KEY, chosen);
  await useLanguage(chosen);
}

/** Before anything is shown or done whose code comes later: its words come with it. */
export async function loadLaterWords(): Promise<void> {
  const first = later;
  later ??= useLanguage(language.value, { withLater: true });
  try {
    await later;
  } catch (error) {
    // The next who asks tries anew.
    if (first === undefined) later = undefined;
    throw error;
  }
}

async function useLanguage(chosen: Language, { withLater = later !== undefined } = {}): Promise<void> {
  const tables = TABLES[chosen];
  const [first, rest] = await Promise.all([tables.first(), withLater ? tables.later() : undefined]);
  words.value = { ...first, ...rest };
  language.value = chosen;
  document.documentElement.lang = chosen;
}

/** What the server says, by a name that stays the same (a code): in its own words where the page has none for it. */
export function told(name: string, text: string): string {
  return t(name as StringName, text) || text;
}

/** In the language of the page; views that call it are drawn again when that changes. */
export function t(name: StringName, ...parts: readonly (string | number)[]): string {
  let i = 0;
  return (words.value[name] ?? '').replace(/\{\}/g, () => String(parts[i++] ?? ''));
}
