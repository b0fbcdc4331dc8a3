import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from './options.ts';

export function registerExport(program: Command): void {
  const command = program
    .command('export')
    .summary('write sessions out, for people or other tools')
    .description('write sessions out: for people, for a model API, or for another tool')
    .argument('[ref]', 'a session: id, name, key, the start of one, @last or @-2')
    .option('--all', 'every session; needs --out')
    .option('--format <name>', 'v3 (the default), markdown, html, anthropic, openai or json')
    .option(
      '--profile <tool>',
      'all in the layout of claw0, claw0-classic, zeroclaw, clawdbot or zyhive; needs --out',
    )
    .option('--out <path>', 'a file, or a folder for several; unset: stdout')
    .option('--redact', 'mask keys, tokens and passwords')
    .option('--full', 'everything that was said, not what a model would be sent now')
    .option('--seals', 'v3: keep the checksums of the lines')
    .option('--force', 'replace what is there')
    .action(async (ref: string | undefined, options: Options) =>
      (await import('./commands/export.ts')).exportSessions(ref, options),
    );
  addGlobals(command, ['json', ...LOCAL]);
  addExamples(command, [
    'reprise export @last --format markdown',
    'reprise export --all --out backup',
    'reprise export --profile clawdbot --out ./openclaw',
  ]);
}

export function registerImport(program: Command): void {
  const command = program
    .command('import')
    .summary('bring in sessions of other tools; looks first')
    .description('bring in sessions of other tools, or exports of this one; looks first, then asks')
    .argument('<path>', 'a transcript of any dialect, or the folder of claw0, ZeroClaw, OpenClaw or ZyHive')
    .option('--dry-run', 'say what would be imported, and change nothing')
    .option('--agent <id>', 'make all sessions those of one agent')
    .option('--accept-settings', 'also apply system prompts, models, pins and other settings of the source')
    .option('-y, --yes', 'do not ask')
    .action(async (path: string, options: Options) => {
      process.exitCode = await (await import('./commands/import.ts')).importSessions(path, options);
    });
  addGlobals(command, ['json', ...LOCAL]);
  addExamples(command, ['reprise import chat.jsonl --dry-run', 'reprise import ~/.openclaw --yes']);
}
