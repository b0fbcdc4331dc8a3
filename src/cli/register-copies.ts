import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from './options.ts';

const commands = (): Promise<typeof import('./commands/backup.ts')> => import('./commands/backup.ts');

/** Copies of a whole store: into another one, into a file, and back. */
export function registerCopies(program: Command): void {
  const migrate = program
    .command('migrate')
    .summary('copy all that a store holds into another; the old one is only read')
    .description(
      'copy all that a store holds into another, check it, and say how to switch; the old one is only read',
    )
    .requiredOption(
      '--to <store>',
      'jsonl, sqlite or postgres, with a folder: sqlite:/srv/reprise, or postgres://user@host/database',
    )
    .option('--from <store>', 'the same for the source; unset: the configured store')
    .option('--dry-run', 'read everything and say what would be copied')
    .action(async (options: Options) => {
      process.exitCode = await (await import('./commands/migrate.ts')).migrate(options);
    });
  addGlobals(migrate, ['json', ...LOCAL]);
  addExamples(migrate, [
    'reprise migrate --to sqlite --dry-run',
    'reprise migrate --to sqlite',
    'reprise migrate --from sqlite:/old --to jsonl:/new',
  ]);

  const backup = program
    .command('backup')
    .summary('everything in one file, while others write')
    .description('write everything into one file that can be read without Reprise, while others write')
    .argument('<file>', 'it must not exist')
    .option('--force', 'replace what is there')
    .option('--redact', 'mask keys, tokens and passwords; it restores like any other')
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
    .description('read every byte of a backup: exit 0 whole, 6 damaged')
    .argument('<file>')
    .action(async (file: string, options: Options) => {
      process.exitCode = await (await commands()).verifyBackup(file, options);
    });
  addGlobals(verify, ['json']);

  const restore = backup
    .command('restore')
    .description('put a backup into an empty home, and check it')
    .argument('<file>')
    .option(
      '--to <store>',
      'jsonl:<folder>, sqlite:<folder> or postgres://user@host/database, instead of --home and --store',
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
    .option('--cancel', 'cancel them instead')
    .option('-y, --yes', 'do not ask')
    .action(async (options: Options) => (await commands()).release(options));
  addGlobals(release, ['json', ...LOCAL]);
  addExamples(release, ['reprise backup release --home ~/restored', 'reprise backup release --cancel --yes']);
}
