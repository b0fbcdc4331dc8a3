import type { Command } from 'commander';
import { ANYWHERE, addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

const LIMIT = '-n, --limit <count>';
const REF = 'id, title, label or key, a unique prefix of one, @last or @-2';

/** Commands that only read. */
export function registerReads(program: Command): void {
  program.commandsGroup('Read:');
  const ls = program
    .command('ls')
    .summary('list sessions, newest first')
    .description(
      'list sessions, newest first unless --sort is given; * marks the active session of a key, which its next message reaches',
    )
    .argument('[filter]', 'only sessions with this text in their title or label')
    .option('--agent <id>', 'only sessions of one agent')
    .option('--channel <name>', 'only sessions of one channel')
    .option('--kind <kind>', 'only one kind of session: main, direct, group, subagent, ...')
    .option('-l, --long', 'also print the whole id and the key')
    .option('--all', 'include archived sessions')
    .option('--deleted', 'list the trash instead')
    .option('--sort <by>', 'by time, messages or tokens; newest or largest first')
    .option('-r, --reverse', 'oldest or smallest first')
    .option(LIMIT, 'how many at most', '50')
    .option(
      '--after <id>',
      'continue after this session id, which the previous page printed (lastId in --json)',
    )
    .action(async (text: string | undefined, options: Options) =>
      (await import('../commands/ls.ts')).ls(text, options),
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
    .description('find messages that contain all words, newest first; "words in quotes" must be adjacent')
    .argument('<text...>')
    .option('--agent <id>', 'only in sessions of one agent')
    .option('--channel <name>', 'only in sessions of one channel')
    .option('--session <ref>', 'only in one session')
    .option(LIMIT, 'how many hits at most', '20')
    .option(
      '--after <cursor>',
      'continue with older hits: the cursor that the previous page printed (next in --json)',
    )
    .option('--seconds <count>', 'time limit in seconds (default: 5); not with a server')
    .action(async (words: string[], options: Options) =>
      (await import('../commands/search.ts')).search(words.join(' '), options),
    );
  addGlobals(search, ['json', ...ANYWHERE]);
  addExamples(search, [
    'reprise search red fox',
    `reprise search '"red fox"' --channel telegram`,
    'reprise search invoice --seconds 60 --json',
  ]);

  const show = program
    .command('show')
    .summary('print a session or a transcript file')
    .description('print the messages of a session, or of a transcript file of any tool')
    .argument('[ref|file]', `${REF}; or a .jsonl file: Reprise, pi v1 to v3, claw0, ZyHive, ZeroClaw rows`)
    .option('--format <api>', 'with --json: the messages for an API: "anthropic", "openai" or "ai-sdk"')
    .option('--leaf <entry>', 'end at this message, such as "#3", instead of the last one')
    .option(
      '--at <entry>',
      'only messages around this one, such as "#3"; an entry id or a line number works too',
    )
    .option(LIMIT, 'only the last <count> entries')
    .action(async (target: string | undefined, options: Options) => {
      process.exitCode = await (await import('../commands/show.ts')).show(target, options);
    });
  addGlobals(show, ['json', ...ANYWHERE]);
  addExamples(show, [
    'reprise show @last',
    "reprise show @last --at '#12'      around the 12th message",
    'reprise show chat.jsonl           a transcript file of Reprise or another tool',
    'reprise show @last --json --format anthropic  what a model would receive',
  ]);

  const tail = program
    .command('tail')
    .summary('print the last messages; -f follows new ones')
    .description('print the last messages; -f follows new ones until Ctrl-C')
    .argument('<ref>', REF)
    .option('-f, --follow', 'print new messages until Ctrl-C')
    .option(LIMIT, 'start with the last <count> entries', '10')
    .action(async (ref: string, options: Options) => {
      process.exitCode = await (await import('../commands/tail.ts')).tail(ref, options);
    });
  addGlobals(tail, ['json', ...ANYWHERE]);
  addExamples(tail, ['reprise tail -f @last', 'reprise tail -f garden --json | jq .text']);

  const explain = program
    .command('explain')
    .description('show what the model received in a turn, and why')
    .argument('<ref>', REF)
    .argument('[turn]', 'its number, counted from 1, or a prefix of its id; default: the last turn')
    .action(async (ref: string, turn: string | undefined, options: Options) =>
      (await import('../commands/explain.ts')).explain(ref, turn, options),
    );
  addGlobals(explain, ['json', 'model', ...LOCAL]);
  addExamples(explain, ['reprise explain @last', 'reprise explain garden 3 --json']);

  const stats = program
    .command('stats')
    .summary('print tokens, cost and sizes by day, agent and model')
    .description('print tokens, cost and events by day, agent and model, and how much is stored')
    .option('--by <what>', 'only one table: day, agent or model')
    .option('--agent <id>', 'only sessions of one agent')
    .option('--days <count>', 'only the last <count> days (with a server: default 30, at most 366)')
    .action(async (options: Options) => (await import('../commands/stats/stats.ts')).stats(options));
  addGlobals(stats, ['json', ...ANYWHERE]);
  addExamples(stats, ['reprise stats', 'reprise stats --by model --days 30 --json']);
}
