import type { Command } from 'commander';

/** What may be said to a chat, beside the options that all commands share. */
export function addChatOptions(command: Command): Command {
  return command
    .option('-c, --continue', 'go on in the last session (a chat does anyway; -p begins a new one)')
    .option('-r, --resume [text]', 'pick a session; with a text, of those that have it in their name')
    .option('-s, --session <ref>', 'a session by id, name, key, @last or @-2')
    .option('--new [label]', 'begin a new session; the old one is kept')
    .option('-p, --prompt [text]', 'ask one question and print the answer; what is piped in is added to it')
    .option('--stream', 'with -p --json: print the events as JSON lines')
    .option('--ephemeral', 'keep nothing')
    .option('--agent <id>', 'talk to this agent')
    .option('--profile <name>', 'keep to the ways of another system');
}
