import { signal } from '@preact/signals';

/** What is open in front of the page; one at a time. */
export type DialogState =
  | { readonly kind: 'search' | 'keys' | 'compact' | 'tree' | 'rename' | 'settings' }
  | { readonly kind: 'explain'; readonly turnId: string };

export const dialog = signal<DialogState | undefined>(undefined);

export function closeDialog(): void {
  dialog.value = undefined;
}
