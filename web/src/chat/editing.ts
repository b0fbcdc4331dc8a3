import { type Signal, signal } from '@preact/signals';
import type { HistoryRow } from 'reprise/client';
import type { Conversation } from '../stores/conversation.ts';

const states = new WeakMap<Conversation, Signal<HistoryRow | undefined>>();

/** The message that is being said anew; undefined: none is. */
export function editingOf(conversation: Conversation): Signal<HistoryRow | undefined> {
  const known = states.get(conversation) ?? signal<HistoryRow | undefined>(undefined);
  states.set(conversation, known);
  return known;
}
