import { computed, signal } from '@preact/signals';
import { EN, type StringName, type StringTable } from './strings-en.ts';

export type Language = 'en' | 'zh';

const KEY = 'reprise.language';

export const language = signal<Language>('en');
const zh = signal<StringTable | undefined>(undefined);
const table = computed<StringTable>(() => (language.value === 'zh' ? (zh.value ?? EN) : EN));

/** What was chosen here, else what the browser prefers. */
export async function loadLanguage(): Promise<void> {
  const chosen = localStorage.getItem(KEY) ?? navigator.language.toLowerCase().slice(0, 2);
  if (chosen === 'zh') await useLanguage('zh');
}

export async function setLanguage(chosen: Language): Promise<void> {
  localStorage.setItem(KEY, chosen);
  await useLanguage(chosen);
}

async function useLanguage(chosen: Language): Promise<void> {
  if (chosen === 'zh') zh.value ??= (await import('./strings-zh.ts')).ZH;
  language.value = chosen;
  document.documentElement.lang = chosen;
}

/** In the language of the page; views that call it are drawn again when that changes. */
export function t(name: StringName, ...parts: readonly (string | number)[]): string {
  let i = 0;
  return table.value[name].replace(/\{\}/g, () => String(parts[i++] ?? ''));
}
