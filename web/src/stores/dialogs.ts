import { signal } from '@preact/signals';
import type { Conversation } from './conversation.ts';

/** What is open in front of the page; one at a time. */
export type DialogState =
  | { readonly kind: 'keys' | 'settings' }
  | { readonly kind: 'search'; readonly text?: string }
  | { readonly kind: 'compact' | 'tree' | 'rename'; readonly conversation: Conversation }
  | { readonly kind: 'explain'; readonly conversation: Conversation; readonly turnId: string }
  /** What a command answered, where it is more than a line. */
  | { readonly kind: 'told'; readonly title: string; readonly text: string };

export const dialog = signal<DialogState | undefined>(undefined);

export function closeDialog(): void {
  dialog.value = undefined;
}
