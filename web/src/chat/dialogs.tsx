import type { JSX } from 'preact';
import { dialog } from '../stores/dialogs.ts';
import { Later, preload } from '../ui/later.tsx';

const load = (): Promise<() => JSX.Element | null> =>
  import('./all-dialogs.tsx').then(({ AllDialogs }) => AllDialogs);

export function preloadDialogs(): Promise<void> {
  return preload(load);
}

export function Dialogs(): JSX.Element | null {
  return dialog.value === undefined ? null : <Later load={load} />;
}
