import type { Command } from 'commander';
import { ANYWHERE, addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

const REF = [
  '<ref>',
  'id, key, title, label or a unique prefix; @last is the last used, @-2 the one before it',
] as const;
const YES = ['-y, --yes', 'do not ask'] as const;

const steps = (): Promise<typeof import('../commands/steps.ts')> => import('../commands/steps.ts');
const trash = (): Promise<typeof import('../commands/trash.ts')> => import('../commands/trash.ts');

/** Commands that change sessions. */
export function registerChanges(program: Command): void {
  program.commandsGroup('Change:');
  const rename = program
    .command('rename')
    .summary('give a session a label')
    .description(
      'give a session a label, which lists show instead of its title; not with --url: there, use /rename in the chat',
    )
    .argument(...REF)
    .argument('<label...>')
    .action(async (ref: string, words: string[], options: Options) =>
      (await steps()).rename(ref, words.join(' '), options),
    );
  addGlobals(rename, ['json', ...LOCAL]);
  addExamples(rename, ['reprise rename @last garden plans']);

  const fork = program
    .command('fork')
    .summary('copy a session up to a message')
    .description('copy a session up to a message; not with --url: there, use /fork in the chat')
    .argument(...REF)
    .argument(
      '[message]',
      `its position as "show" prints it, in quotes: '#3'; or an entry id; default: the whole session`,
    )
    .action(async (ref: string, entry: string | undefined, options: Options) =>
      (await steps()).fork(ref, entry, options),
    );
  addGlobals(fork, ['json', ...LOCAL]);
  addExamples(fork, ['reprise fork @last', "reprise fork garden '#3'"]);

  const compact = program
    .command('compact')
    .summary('summarize older messages; the originals are kept')
    .description('replace older messages in the context by a summary; the originals are kept')
    .argument(...REF)
    .option('--dry-run', 'show what would be compacted, and change nothing')
    .option('--focus <text>', 'what the summary must keep')
    .action(async (ref: string, options: Options) => (await steps()).compact(ref, options));
  addGlobals(compact, ['json', 'model', ...ANYWHERE]);
  addExamples(compact, [
    'reprise compact @last --dry-run',
    'reprise compact garden --focus "what was planted where"',
  ]);

  const undo = program
    .command('undo')
    .summary('undo the last turn, compaction or reset')
    .description(
      'undo the last turn, compaction or reset; in a chat, /compact undo undoes a compaction and keeps later turns',
    )
    .argument(...REF)
    .option(
      '--anyway',
      'undo a compaction even if the restored messages do not fit the window; the next turn compacts again',
    )
    .action(async (ref: string, options: Options) => (await steps()).undo(ref, options));
  addGlobals(undo, ['json', 'model', ...ANYWHERE]);
  addExamples(undo, ['reprise undo @last']);

  const redo = program
    .command('redo')
    .summary('redo what undo reversed')
    .description('redo what undo reversed; not with --url: there, use /redo in the chat')
    .argument(...REF)
    .action(async (ref: string, options: Options) => (await steps()).redo(ref, options));
  addGlobals(redo, ['json', 'model', ...LOCAL]);
  addExamples(redo, ['reprise redo @last']);

  const stop = program
    .command('stop')
    .summary('stop the running turn; queued messages run next')
    .description(
      'stop the running turn in any process; the partial answer is kept, and queued messages run next',
    )
    .argument(...REF)
    .option('--waiting', 'also cancel queued messages and stop subagents')
    .action(async (ref: string, options: Options) => (await steps()).stop(ref, options));
  addGlobals(stop, ['json', ...ANYWHERE]);
  addExamples(stop, ['reprise stop @last', 'reprise stop garden --waiting']);

  const rm = program
    .command('rm')
    .summary('move sessions to the trash; asks first')
    .description('move sessions to the trash; asks first; not with --url: there, use /delete in the chat')
    .argument('[ref...]', 'default: choose from a list')
    .option(...YES)
    .action(async (refs: string[], options: Options) => (await trash()).rm(refs, options));
  addGlobals(rm, ['json', ...LOCAL]);
  addExamples(rm, ['reprise rm garden', 'reprise rm garden trip --yes']);

  const restore = program
    .command('restore')
    .description('restore sessions from the trash')
    .argument('<ref...>', 'as in "reprise ls --deleted"')
    .action(async (refs: string[], options: Options) => (await trash()).restore(refs, options));
  addGlobals(restore, ['json', ...LOCAL]);
  addExamples(restore, ['reprise ls --deleted', 'reprise restore garden']);

  const purge = program
    .command('purge')
    .summary('delete sessions in the trash permanently; asks first')
    .description(
      'delete the text of sessions in the trash from every file and channel log, and list copies elsewhere; asks first',
    )
    .argument('<ref...>', 'as in "reprise ls --deleted"')
    .option(
      '--with-copies',
      'also purge every session, and delete every note and file, that contains a copy of the text',
    )
    .option('--keep-channel-log', 'keep the messages in channel logs')
    .option(...YES)
    .action(async (refs: string[], options: Options) => (await trash()).purge(refs, options));
  addGlobals(purge, ['json', ...LOCAL]);
  addExamples(purge, ['reprise ls --deleted', 'reprise purge garden', 'reprise purge garden --with-copies']);

  const prune = program
    .command('prune')
    .summary('move old sessions to the trash; shows them first')
    .description(
      'move old sessions to the trash, and permanently delete sessions that have been there for long; shows them first',
    )
    .option('--ttl <time>', 'to the trash: sessions without messages for this long, such as 90d')
    .option('--max-sessions <count>', 'to the trash: the oldest sessions above this number')
    .option('--max-bytes <count>', 'to the trash: the oldest sessions while transcripts are larger than this')
    .option('--archive-after <time>', 'archive: sessions without messages for this long')
    .option('--grace <time>', 'delete permanently: sessions in the trash for this long (default: 30d)')
    .option(...YES)
    .action(async (options: Options) => {
      process.exitCode = await (await import('../commands/prune.ts')).prune(options);
    });
  addGlobals(prune, ['json', ...LOCAL]);
  addExamples(prune, [
    'reprise prune --ttl 90d                   list them; nothing changes',
    'reprise prune --ttl 90d --grace 7d --yes  do it',
  ]);
}
