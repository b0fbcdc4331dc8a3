import { type Signal, signal } from '@preact/signals';
import type { Conversation } from '../stores/conversation.ts';

const states = new WeakMap<Conversation, Signal<string | undefined>>();

/** The text of the last message while it is being said anew; undefined: nothing is. */
export function editingOf(conversation: Conversation): Signal<string | undefined> {
  const known = states.get(conversation) ?? signal<string | undefined>(undefined);
  states.set(conversation, known);
  return known;
}
