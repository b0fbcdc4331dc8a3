import { signal } from '@preact/signals';

/** On a narrow screen the list covers the conversation, and closes when one is chosen. */
export const isListOpen = signal(false);
