import { count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { ConversationMessages } from '../params/params-conversations.ts';

export const ENGLISH_CONVERSATIONS: Pick<MessageTable, keyof ConversationMessages> = {
  'session.empty': () => ['this session has no messages yet', 'Send a message first.'],
  'entry.missing': ({ entry }) => [
    `no entry "${entry}" in this session`,
    'Name a message by its position, such as #3: /history and "reprise show" print them.',
  ],
  'entry.ambiguous': ({ entry, entries }) => [
    `"${entry}" matches ${entries} entries`,
    'Name a message by its position, such as #3: /history and "reprise show" print them.',
  ],
  'turn.running': () => ['a turn is running', 'Wait for it, or stop it with /stop.'],
  'turn.missing': ({ turn, turns }) => [
    `no turn "${turn}"`,
    `The session has ${counted(turns, 'turn')}, counted from 1.`,
  ],
  'turn.ambiguous': ({ turn, matches }) => [
    `"${turn}" matches ${matches} turns`,
    'Write more of the turn id, or the number of the turn, counted from 1.',
  ],
  'undo.tooLarge': ({ tokens, budget }) => [
    `undoing the compaction restores ~${count(tokens)} tokens, but only ${count(budget)} fit`,
    'Fork the session at a message, choose a model with a larger window, or undo anyway: "/undo anyway" in a chat, "reprise undo --anyway". The next turn then compacts again.',
  ],
  'session.missing': ({ ref, isTrash }) =>
    isTrash
      ? [`no session "${ref}" in the trash`, '"reprise ls --deleted" lists the trash.']
      : [`no session "${ref}"`, '"reprise ls" and /sessions list all sessions.'],
  'session.ambiguous': ({ ref, sessions, shown }) => [
    `"${ref}" matches ${sessions} sessions`,
    `Write more of one of these:\n${listed(shown, sessions, 'more')}`,
  ],
  'session.notInList': ({ ref, listed }) => [
    `no session ${ref}: ${listed === null ? 'no list was printed here yet' : `the last list has ${counted(listed, 'session')}`}`,
    '/sessions prints a list with numbers. A name or an id works too.',
  ],
  'session.listNumber': ({ ref }) => [
    `"${ref}" is not a session: list numbers work only in a chat`,
    'Name it by id or name ("reprise ls" prints both), or by @last or @-2.',
  ],
  'message.missing': ({ position, messages }) => [
    `no message #${position}: the current branch has ${messages === 0 ? 'no messages yet' : messages === 1 ? 'one message, #1' : `messages #1 to #${messages}`}`,
    '/history and "reprise show" print the position of each message.',
  ],
  'entry.noText': ({ entry }) => [`entry ${entry} has no text`, 'Choose a message that contains text.'],
  'pins.tooLarge': ({ tokens, max }) => [
    `the pinned messages would have ~${count(tokens)} tokens, at most ${count(max)} are allowed`,
    'Unpin another message first.',
  ],
  'retry.afterStep': ({ what }) => [`the last step is a ${what}, not a message`, 'Undo it first with /undo.'],
  'retry.afterNote': ({ note }) => [
    `the last entry is a note (${note}), not a message`,
    'Send a new message instead, or undo the note and what followed it with /undo.',
  ],
  'turn.none': () => ['this session has no turn yet', 'Send a message first.'],
  'turn.unexpected': ({ problem }) => [`unexpected error: ${problem}`],
  'model.notConfigured': ({ model }) => [
    `the model ${model} is not configured`,
    'Configure it, or choose another one with /model.',
  ],
  'model.slow': ({ model, seconds }) => [
    `the model ${model} did not load within ${seconds} s`,
    'Send the message again, or choose another model with /model.',
  ],
};

/** As many lines as are shown, and how many are not. */
function listed(shown: readonly string[], all: number, more: string): string {
  return [...shown, ...(all > shown.length ? [`  … ${count(all - shown.length)} ${more}`] : [])].join('\n');
}
