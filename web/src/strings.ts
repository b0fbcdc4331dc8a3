import { signal } from '@preact/signals';
import chineseUrl from './chinese.ts?file';
import { EN } from './strings-en.ts';

export type Language = 'en' | 'zh';
export type StringName = keyof typeof EN;
export type Words = Readonly<Record<StringName, string>>;

const KEY = 'reprise.language';
const RETRY_MS = 2000;

export const language = signal<Language>('en');
const words = signal<Readonly<Partial<Record<string, string>>>>(EN);
let translate = (text: string): string => text;
let chosen: Language = 'en';
let failures = 0;

/** The language chosen here before, or else the one the browser prefers. */
export async function loadLanguage(): Promise<void> {
  const wanted = localStorage.getItem(KEY) ?? navigator.language.toLowerCase().slice(0, 2);
  if (wanted === 'zh') await useLanguage('zh');
}

export async function setLanguage(wanted: Language): Promise<void> {
  localStorage.setItem(KEY, wanted);
  await useLanguage(wanted);
}

/** English is part of the page. If Chinese cannot be loaded, the page stays as it is and tries again. */
async function useLanguage(wanted: Language): Promise<void> {
  chosen = wanted;
  if (wanted === 'en') return show('en', EN, (text) => text);
  try {
    const { ZH, noteInChinese } = await loadChinese();
    if (chosen === 'zh') show('zh', ZH, noteInChinese);
  } catch {
    failures++;
    setTimeout(() => {
      if (chosen === 'zh' && language.value !== 'zh') void useLanguage('zh');
    }, RETRY_MS);
  }
}

/** Another address after a failure: until a reload a browser does not load a module again whose address failed once. */
async function loadChinese(): Promise<typeof import('./chinese.ts')> {
  return import(/* @vite-ignore */ failures === 0 ? chineseUrl : `${chineseUrl}?${failures}`);
}

function show(shown: Language, table: typeof words.value, translated: typeof translate): void {
  words.value = table;
  translate = translated;
  language.value = shown;
  document.documentElement.lang = shown;
}

/** The text of a command's answer in the language of the page, as far as the page knows it. */
export function translateNote(text: string): string {
  return translate(text);
}

/** Text of the server that has a fixed name (a code): the page's own wording, or else the server's. */
export function told(name: string, text: string): string {
  return t(name as StringName, text) || text;
}

/** In the language of the page; views that call it are drawn again when that changes. */
export function t(name: StringName, ...parts: readonly (string | number)[]): string {
  let i = 0;
  return (words.value[name] ?? '').replace(/\{\}/g, () => String(parts[i++] ?? ''));
}
