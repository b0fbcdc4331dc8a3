import type { Command } from 'commander';
import { ANYWHERE, addExamples, addGlobals, LOCAL, type Options } from './options.ts';

const LIMIT = '-n, --limit <count>';
const REF = 'id, name, key, the start of one, @last or @-2';

/** Commands that only look. */
export function registerReads(program: Command): void {
  program.commandsGroup('Read:');
  const ls = program
    .command('ls')
    .summary('list sessions, newest first')
    .description(
      'list sessions, newest first unless --sort says otherwise; * marks the one its key stands for',
    )
    .argument('[filter]', 'only those with this in their title or label')
    .option('--agent <id>', 'only those of one agent')
    .option('--channel <name>', 'only those of one channel')
    .option('--kind <kind>', 'only keys of one kind: main, direct, group, subagent, ...')
    .option('--all', 'archived ones too')
    .option('--deleted', 'what is in the trash')
    .option('--sort <by>', 'time, messages or tokens: the newest or the most first')
    .option('-r, --reverse', 'the oldest or the least first')
    .option(LIMIT, 'at most so many', '50')
    .option('--after <id>', 'what follows this one: the lastId of the page before')
    .action(async (text: string | undefined, options: Options) =>
      (await import('./commands/ls.ts')).ls(text, options),
    );
  addGlobals(ls, ['json', ...ANYWHERE]);
  addExamples(ls, [
    'reprise ls',
    'reprise ls garden --agent main',
    'reprise ls --sort tokens -n 10',
    'reprise ls --json | jq -r .data[].id',
  ]);

  const search = program
    .command('search')
    .summary('find words in all sessions, newest first')
    .description('find messages that hold all words, newest first; "words in quotes" stand together')
    .argument('<text...>')
    .option('--agent <id>', 'only in those of one agent')
    .option('--channel <name>', 'only in those of one channel')
    .option('--session <ref>', 'only in one session')
    .option(LIMIT, 'at most so many places', '20')
    .option('--after <cursor>', 'older places than those of the page that named this')
    .option('--seconds <count>', 'how long to look at most (default: 5); not through a server')
    .action(async (words: string[], options: Options) =>
      (await import('./commands/search.ts')).search(words.join(' '), options),
    );
  addGlobals(search, ['json', ...ANYWHERE]);
  addExamples(search, [
    'reprise search red fox',
    `reprise search '"red fox"' --channel telegram`,
    'reprise search invoice --seconds 60 --json',
  ]);

  const show = program
    .command('show')
    .summary('print the history of a session or of a transcript file')
    .description('print a history: of a session, or of a transcript file of any tool')
    .argument('[ref|file]', `${REF}; or a .jsonl file: Reprise, pi v1 to v3, claw0, ZyHive, ZeroClaw rows`)
    .option('--format <api>', 'with --json: rebuilt API messages, "anthropic", "openai" or "ai-sdk"')
    .option('--leaf <entry>', 'end at this message, such as "#3", instead of the last one')
    .option('--at <entry>', 'only what is around this message, such as "#3"; an entry id or a line works too')
    .option(LIMIT, 'only the last <count> entries')
    .action(async (target: string | undefined, options: Options) => {
      process.exitCode = await (await import('./commands/show.ts')).show(target, options);
    });
  addGlobals(show, ['json', ...ANYWHERE]);
  addExamples(show, [
    'reprise show @last',
    "reprise show @last --at '#12'      around the 12th message",
    'reprise show chat.jsonl           a transcript of any dialect',
    'reprise show @last --json --format anthropic  what a model would be sent',
  ]);

  const tail = program
    .command('tail')
    .summary('the end of a history; -f goes on with what is said')
    .description('the end of a history; -f goes on with what is said, until Ctrl-C')
    .argument('<ref>', REF)
    .option('-f, --follow', 'go on until Ctrl-C')
    .option(LIMIT, 'begin with the last <count> entries', '10')
    .action(async (ref: string, options: Options) => {
      process.exitCode = await (await import('./commands/tail.ts')).tail(ref, options);
    });
  addGlobals(tail, ['json', ...ANYWHERE]);
  addExamples(tail, ['reprise tail -f @last', 'reprise tail -f garden --json | jq .text']);

  const explain = program
    .command('explain')
    .description('what the model was sent in a turn, and why')
    .argument('<ref>', REF)
    .argument('[turn]', 'its number, counted from 1, or the start of its id; unset: the last')
    .action(async (ref: string, turn: string | undefined, options: Options) =>
      (await import('./commands/explain.ts')).explain(ref, turn, options),
    );
  addGlobals(explain, ['json', 'model', ...LOCAL]);
  addExamples(explain, ['reprise explain @last', 'reprise explain garden 3 --json']);

  const stats = program
    .command('stats')
    .summary('tokens and cost by day, agent and model, and sizes')
    .description('tokens, cost and what happened by day, agent and model, and how much is stored')
    .option('--by <what>', 'only one of the tables: day, agent or model')
    .option('--agent <id>', 'only sessions of one agent')
    .option('--days <count>', 'only the last <count> days (through a server: 30 unless given, at most 366)')
    .action(async (options: Options) => (await import('./commands/stats.ts')).stats(options));
  addGlobals(stats, ['json', ...ANYWHERE]);
  addExamples(stats, ['reprise stats', 'reprise stats --by model --days 30 --json']);
}
