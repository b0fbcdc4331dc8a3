import { attempt } from '../stores/api.ts';
import { loadLaterWords } from '../strings.ts';

type Steps = typeof import('./steps.ts');

async function load(): Promise<Steps> {
  const [steps] = await Promise.all([import('./steps.ts'), loadLaterWords()]);
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
