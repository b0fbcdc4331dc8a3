import { signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'reprise.theme';
export const theme = signal<Theme>('auto');

export function loadTheme(): void {
  const kept = localStorage.getItem(KEY);
  setTheme(kept === 'light' || kept === 'dark' ? kept : 'auto');
}

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  localStorage.setItem(KEY, chosen);
  const { dataset } = document.documentElement;
  if (chosen === 'auto') delete dataset['theme'];
  else dataset['theme'] = chosen;
}
