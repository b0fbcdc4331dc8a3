import { signal } from '@preact/signals';
import { attempt } from '../stores/api.ts';
import { loadLaterWords } from '../strings.ts';
import type { MenuEntry } from '../ui/menu.tsx';

type Steps = typeof import('./steps-door.ts').STEPS;
type Menus = typeof import('./steps-door.ts').MENUS;

const menus = signal<Menus | undefined>(undefined);

async function load(): Promise<Steps> {
  const [{ MENUS, STEPS }] = await Promise.all([import('./steps-door.ts'), loadLaterWords()]);
  menus.value = MENUS;
  return STEPS;
}

/** Right behind the first picture: whoever opens a menu finds it there. */
export async function preloadSteps(): Promise<void> {
  await load();
}

/** Does a step whose code is not needed to read and write. */
export function withSteps<T>(run: (steps: Steps) => Promise<T>): Promise<T | undefined> {
  return attempt(async () => run(await load()));
}

/** What a menu offers, for when it is open; nothing until its code is there. */
export function menuOf(list: (menus: Menus) => readonly MenuEntry[]): () => readonly MenuEntry[] {
  return () => {
    if (menus.value !== undefined) return list(menus.value);
    void attempt(load);
    return [];
  };
}
