import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

const commands = (): Promise<typeof import('../commands/backup.ts')> => import('../commands/backup.ts');

/** Commands that copy a whole store: into another store, into a file, and back. */
export function registerCopies(program: Command): void {
  const migrate = program
    .command('migrate')
    .summary('copy all data into another store; the old store is not changed')
    .description(
      'copy all sessions, messages and channel logs into another store, compare both, and print how to switch; the old store is not changed',
    )
    .requiredOption(
      '--to <store>',
      'the target: sqlite or jsonl (in the same home), sqlite:<folder>, jsonl:<folder>, postgres://user@host/database, or postgres for the configured database',
    )
    .option('--from <store>', 'the source, in the same forms; default: the configured store')
    .option('--dry-run', 'read the whole source and show what would be copied')
    .action(async (options: Options) => {
      process.exitCode = await (await import('../commands/migrate.ts')).migrate(options);
    });
  addGlobals(migrate, ['json', ...LOCAL]);
  addExamples(migrate, [
    'reprise migrate --to sqlite --dry-run',
    'reprise migrate --to sqlite',
    'reprise migrate --from sqlite:/old --to jsonl:/new',
  ]);

  const backup = program
    .command('backup')
    .summary('write all data of the store into one file')
    .description(
      'write all sessions, messages and channel logs into one file; other processes can keep writing; workspaces, AGENT.md, settings and tokens are not included',
    )
    .usage('[options] <file>\n       reprise backup verify|restore|release [options]')
    .argument('<file>', 'the file to write; an existing file needs --force')
    .option('--force', 'replace an existing file')
    .option('--redact', 'mask keys, tokens and passwords; the file restores like any other')
    .action(async (file: string, options: Options) => {
      process.exitCode = await (await commands()).backup(file, options);
    });
  addGlobals(backup, ['json', ...LOCAL]);
  addExamples(backup, [
    'reprise backup ~/reprise-friday.jsonl',
    'reprise backup verify ~/reprise-friday.jsonl',
  ]);

  const verify = backup
    .command('verify')
    .description('check every byte of a backup; exit code 0 complete, 6 damaged')
    .argument('<file>')
    .action(async (file: string, options: Options) => {
      process.exitCode = await (await commands()).verifyBackup(file, options);
    });
  addGlobals(verify, ['json']);

  const restore = backup
    .command('restore')
    .description('restore a backup into an empty or new home, and check it')
    .argument('<file>')
    .option(
      '--to <store>',
      'jsonl:<folder>, sqlite:<folder>, postgres://user@host/database, or postgres for the configured database; instead of --home and --store',
    )
    .action(async (file: string, options: Options) => {
      process.exitCode = await (await commands()).restore(file, options);
    });
  addGlobals(restore, ['json', ...LOCAL]);
  addExamples(restore, ['reprise backup restore friday.jsonl --home ~/restored']);

  const release = backup
    .command('release')
    .summary('let the queued messages of a restored backup run')
    .description('let the queued messages of a restored backup run, or cancel them; asks first')
    .option('--cancel', 'cancel the queued messages instead of running them')
    .option('-y, --yes', 'do not ask')
    .action(async (options: Options) => (await commands()).release(options));
  addGlobals(release, ['json', ...LOCAL]);
  addExamples(release, ['reprise backup release --home ~/restored', 'reprise backup release --cancel --yes']);
}
