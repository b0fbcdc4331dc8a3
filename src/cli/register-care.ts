import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from './options.ts';

/** Loaded when one of them is run. */
const home = (): Promise<typeof import('./commands/home.ts')> => import('./commands/home.ts');

/** Commands for whoever looks after a home, and about the command line itself. */
export function registerCare(program: Command): void {
  program.commandsGroup('Care:');
  const verify = program
    .command('verify')
    .summary('read every byte: exit 0 clean, 1 quarantined, 6 damaged')
    .description('read every byte of a session, or of all: exit 0 clean, 1 quarantined, 6 damaged')
    .argument('[ref]')
    .action(async (ref: string | undefined, options: Options) => {
      process.exitCode = await (await home()).verify(ref, options);
    });
  addGlobals(verify, ['json', ...LOCAL]);
  addExamples(verify, ['reprise verify', 'reprise verify garden']);

  const repair = program
    .command('repair')
    .summary('go on with what can be read of a damaged session')
    .description('continue a damaged session in a new one; the old one is kept')
    .argument('<ref>')
    .action(async (ref: string, options: Options) => (await home()).repair(ref, options));
  addGlobals(repair, ['json', ...LOCAL]);
  addExamples(repair, ['reprise repair garden']);

  const locks = program
    .command('locks')
    .description('who holds which session')
    .action(async (options: Options) => (await home()).locks(options));
  addGlobals(locks, ['json', ...LOCAL]);
  addExamples(locks, ['reprise locks', 'reprise locks --json']);

  const doctor = program
    .command('doctor')
    .summary('what an operator would ask first')
    .description('what an operator would ask first: exit 0 when nothing wants a look')
    .option('--rebuild-search', 'make the index of searches anew first')
    .action(async (options: Options) => {
      process.exitCode = await (await import('./commands/doctor.ts')).doctor(options);
    });
  addGlobals(doctor, ['json', ...LOCAL]);
  addExamples(doctor, ['reprise doctor', 'reprise doctor --rebuild-search']);

  const path = program
    .command('path')
    .description('where the home is, or the transcript of a session')
    .argument('[ref]')
    .action(async (ref: string | undefined, options: Options) => (await home()).path(ref, options));
  addGlobals(path, ['json', ...LOCAL]);
  addExamples(path, ['reprise path', 'less "$(reprise path @last)"']);

  const demo = program
    .command('demo')
    .summary('a home with six telling sessions, one damaged and healed')
    .description('make a home with six telling sessions, one of them damaged and healed')
    .action(async (options: Options) => (await import('./commands/demo.ts')).demo(options));
  addGlobals(demo, ['home']);
  addExamples(demo, ['reprise demo', 'reprise demo --home ./play']);

  const completion = program
    .command('completion')
    .summary('a completion script for bash, zsh or fish')
    .description('print a completion script that knows commands, options and sessions')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => (await import('./commands/completion.ts')).completion(shell));
  addExamples(completion, [
    'source <(reprise completion bash)',
    'reprise completion zsh > "$fpath[1]/_reprise"',
    'reprise completion fish > ~/.config/fish/completions/reprise.fish',
  ]);

  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .passThroughOptions()
    .allowUnknownOption()
    .helpOption(false)
    .action(async (words: string[]) => (await import('./commands/complete.ts')).complete(program, words));
}
