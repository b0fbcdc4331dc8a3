import type { Command } from 'commander';

/** Options of the chat, besides those that all commands share. */
export function addChatOptions(command: Command): Command {
  return command
    .argument('[question]', 'the first message')
    .option('-c, --continue', 'continue the last session (default; with -p the default is a new session)')
    .option('-r, --resume [text]', 'pick a session; text filters by title and label')
    .option('-s, --session <ref>', 'open a session by id, title, label, key, @last or @-2')
    .option('--new [label]', 'start a new session')
    .option('-p, --prompt [text]', 'ask one question and print the answer; piped input is added to it')
    .option('--stream', 'with -p --json: print the events as JSON lines')
    .option('--system <text>', 'the system prompt of the session')
    .option('--plain', 'print the text of the model as it is, without formatting')
    .option('--ephemeral', 'store nothing')
    .option('--agent <id>', 'the agent that answers')
    .option(
      '--profile <name>',
      'use the limits and formats of another system: claw0, claw0-classic, zeroclaw, clawdbot (OpenClaw) or zyhive',
    );
}
