import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

/** Loaded when one of these commands runs. */
const home = (): Promise<typeof import('../commands/home.ts')> => import('../commands/home.ts');

/** Commands that maintain a home, and commands about the command line itself. */
export function registerCare(program: Command): void {
  program.commandsGroup('Maintenance:');
  const verify = program
    .command('verify')
    .summary('finish the recovery from a crash, then check every stored byte')
    .description(
      'check every stored byte of one session or of all, after upgrading a store of an older version and finishing the recovery from a crash; exit code 0 no damage, 1 an incomplete part was moved to quarantine/, 6 damage',
    )
    .argument('[ref]')
    .action(async (ref: string | undefined, options: Options) => {
      process.exitCode = await (await home()).verify(ref, options);
    });
  addGlobals(verify, ['json', ...LOCAL]);
  addExamples(verify, ['reprise verify', 'reprise verify garden']);

  const repair = program
    .command('repair')
    .summary('continue a damaged session in a new one')
    .description(
      'copy the readable messages of a damaged session into a new session; the damaged one is kept',
    )
    .argument('<ref>')
    .action(async (ref: string, options: Options) => (await home()).repair(ref, options));
  addGlobals(repair, ['json', ...LOCAL]);
  addExamples(repair, ['reprise repair garden']);

  const locks = program
    .command('locks')
    .summary('list the sessions that are locked, and by which process')
    .description('list the sessions that a process or another tool has locked (leases and lock files)')
    .action(async (options: Options) => (await home()).locks(options));
  addGlobals(locks, ['json', ...LOCAL]);
  addExamples(locks, ['reprise locks', 'reprise locks --json']);

  const doctor = program
    .command('doctor')
    .summary('check the home, the disk, the index and the queues')
    .description('check the home, the disk, the index and the queues; exit code 0 if everything is fine')
    .option('--rebuild-search', 'rebuild the search index first')
    .action(async (options: Options) => {
      process.exitCode = await (await import('../commands/doctor.ts')).doctor(options);
    });
  addGlobals(doctor, ['json', ...LOCAL]);
  addExamples(doctor, ['reprise doctor', 'reprise doctor --rebuild-search']);

  const path = program
    .command('path')
    .description('print the path of the home, or of the transcript of a session')
    .argument('[ref]')
    .action(async (ref: string | undefined, options: Options) => (await home()).path(ref, options));
  addGlobals(path, ['json', ...LOCAL]);
  addExamples(path, ['reprise path', 'less "$(reprise path @last)"']);

  const demo = program
    .command('demo')
    .summary('create a demo home with six sessions')
    .description('create a demo home with six sessions, one of them damaged and repaired')
    .action(async (options: Options) => (await import('../commands/demo/demo.ts')).demo(options));
  addGlobals(demo, ['home']);
  addExamples(demo, ['reprise demo', 'reprise demo --home ./play']);

  const completion = program
    .command('completion')
    .summary('print a completion script for bash, zsh or fish')
    .description('print a completion script that completes commands, options and sessions')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => (await import('../commands/completion.ts')).completion(shell));
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
    .action(async (words: string[]) => (await import('../commands/complete.ts')).complete(program, words));
}
