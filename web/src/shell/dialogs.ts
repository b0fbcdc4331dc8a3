import { signal } from '@preact/signals';
import type { CodedAnswer } from 'reprise/client';
import type { Conversation } from '../conversation/conversation.ts';

/** What is open in front of the page; one at a time. */
export type DialogState =
  | { readonly kind: 'keys' | 'settings' | 'help' }
  | { readonly kind: 'search'; readonly text?: string }
  | { readonly kind: 'compact' | 'tree' | 'rename'; readonly conversation: Conversation }
  | { readonly kind: 'explain'; readonly conversation: Conversation; readonly turnId: string }
  /** The answer to a command, if it is longer than a line. */
  | { readonly kind: 'answer'; readonly title: string; readonly answer: CodedAnswer };

export const dialog = signal<DialogState | undefined>(undefined);

export function closeDialog(): void {
  dialog.value = undefined;
}
