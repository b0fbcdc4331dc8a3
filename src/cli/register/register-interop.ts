import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

export function registerExport(program: Command): void {
  const command = program
    .command('export')
    .summary('write sessions to files, for people or other tools')
    .description('write sessions to files: for people, for a model API, or for another tool')
    .argument(
      '[ref]',
      'id, key, title, label or a unique prefix, @last or @-2; leave it out with --all, or with --profile for all sessions',
    )
    .option('--all', 'every session; needs --out')
    .option(
      '--format <name>',
      'v3 (transcript lines, the default), markdown, html, anthropic, openai, json; for an agent: claude-code, codex or pi',
    )
    .option(
      '--profile <tool>',
      'the folders and files of claw0, claw0-classic, zeroclaw, clawdbot or zyhive; needs --out',
    )
    .option('--out <path>', 'a file, or a folder for several sessions; default: stdout')
    .option('--redact', 'mask keys, tokens and passwords')
    .option(
      '--full',
      'all messages instead of summaries (formats anthropic and openai, profiles claw0 and claw0-classic)',
    )
    .option('--seals', 'keep the checksums of the lines (format v3 only)')
    .option('--force', 'replace existing files')
    .action(async (ref: string | undefined, options: Options) =>
      (await import('../commands/export.ts')).exportSessions(ref, options),
    );
  addGlobals(command, ['json', ...LOCAL]);
  addExamples(command, [
    'reprise export @last --format markdown',
    'reprise export --all --out exported',
    'reprise export --profile clawdbot --out ./openclaw',
  ]);
}

export function registerImport(program: Command): void {
  const command = program
    .command('import')
    .summary('import sessions of other tools; shows a plan first')
    .description('import sessions of other tools, or exports of Reprise; shows a plan, then asks')
    .argument('[paths...]', 'files or folders of Claude Code, Codex, OpenClaw, pi, opencode and others')
    .option('--all', 'everything in the known folders of all tools on this machine')
    .option('--only <tools>', 'with --all: these tools, separated by commas')
    .option('--watch', 'import everything, then what the tools write from now on, until Ctrl+C')
    .option('--dry-run', 'show what would be imported, and change nothing')
    .option('--agent <id>', 'assign all sessions to one agent')
    .option('--accept-settings', 'also apply system prompts, models, pins and other settings of the source')
    .option('-y, --yes', 'do not ask')
    .action(async (paths: string[], options: Options) => {
      process.exitCode =
        options['all'] === true || options['watch'] === true
          ? await (await import('../commands/import-all.ts')).importAll(paths, options)
          : await (await import('../commands/import.ts')).importSessions(paths, options);
    });
  addGlobals(command, ['json', ...LOCAL]);
  addExamples(command, [
    'reprise import chat.jsonl --dry-run',
    'reprise import ~/.openclaw --yes',
    'reprise import --all --watch',
  ]);
}

export function registerResume(program: Command): void {
  const command = program
    .command('resume')
    .summary('continue a session in Claude Code, Codex or pi')
    .description('write a session as a new session of another agent, and start that agent; asks first')
    .argument('<ref>', 'id, key, label, title or unique prefix')
    .requiredOption('--in <tool>', 'claude-code, codex or pi')
    .option('--full', 'all messages, not only the current context')
    .option('--compact', 'compact the session first, so that the agent starts with a summary')
    .option('--cwd <folder>', 'where the agent works; default: the folder of the session, otherwise this one')
    .option('--out <file>', 'write this file and do not start the agent')
    .option('--no-start', 'write the file where the agent finds it, and print the command that starts it')
    .option('-y, --yes', 'do not ask')
    .action(async (ref: string, options: Options) =>
      (await import('../commands/resume.ts')).resume(ref, options),
    );
  addGlobals(command, ['json', ...LOCAL]);
  addExamples(command, [
    'reprise resume @last --in codex',
    'reprise resume "the bug" --in claude-code --compact',
  ]);
}
