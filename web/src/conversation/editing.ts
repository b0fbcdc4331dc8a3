import { type Signal, signal } from '@preact/signals';
import type { HistoryRow } from 'reprise/client';
import type { Conversation } from './conversation.ts';
import { type Edit, loadEdit } from './drafts.ts';
import { whoSaid } from './who-said.ts';

const states = new WeakMap<Conversation, Signal<Edit | undefined>>();

/** The edit of an earlier message with its current text; undefined if no message is being edited. It survives a reload. */
export function editingOf(conversation: Conversation): Signal<Edit | undefined> {
  const known = states.get(conversation) ?? signal<Edit | undefined>(loadEdit(conversation.id));
  states.set(conversation, known);
  return known;
}

export function startEditing(conversation: Conversation, { id, text }: HistoryRow): void {
  const { said } = whoSaid(text, conversation.history.view.value);
  editingOf(conversation).value = { before: id, text: said };
}
