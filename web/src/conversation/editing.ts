import { type Signal, signal } from '@preact/signals';
import type { HistoryRow } from 'reprise/client';
import type { Conversation } from './conversation.ts';
import { type Edit, loadEdit } from './drafts.ts';
import { whoSaid } from './who-said.ts';

const states = new WeakMap<Conversation, Signal<Edit | undefined>>();

/** The message that is being said anew, with the words it has by now; undefined: none is. It outlives a reload. */
export function editingOf(conversation: Conversation): Signal<Edit | undefined> {
  const known = states.get(conversation) ?? signal<Edit | undefined>(loadEdit(conversation.id));
  states.set(conversation, known);
  return known;
}

export function startEditing(conversation: Conversation, { id, text }: HistoryRow): void {
  const { said } = whoSaid(text, conversation.history.view.value);
  editingOf(conversation).value = { before: id, text: said };
}
