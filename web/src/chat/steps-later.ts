import { signal } from '@preact/signals';
import { attempt } from '../stores/api.ts';
import { loadLaterWords } from '../strings.ts';
import type { MenuEntry } from '../ui/menu.tsx';

type Steps = typeof import('./steps.ts');
type Entries = typeof import('./menu-entries.ts');

const entries = signal<Entries | undefined>(undefined);

async function load(): Promise<Steps> {
  const [steps, menus] = await Promise.all([
    import('./steps.ts'),
    import('./menu-entries.ts'),
    loadLaterWords(),
  ]);
  entries.value = menus;
  return steps;
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
export function menuOf(list: (menus: Entries) => readonly MenuEntry[]): () => readonly MenuEntry[] {
  return () => {
    if (entries.value !== undefined) return list(entries.value);
    void attempt(load);
    return [];
  };
}
