import type { Command } from 'commander';
import { addExamples, addGlobals, LOCAL, type Options } from '../options.ts';

export function registerMcp(program: Command): void {
  const command = program
    .command('mcp')
    .summary('let other agents search and read the sessions')
    .description(
      'start an MCP server on stdin and stdout: agents search and read the sessions of this folder and the folders below it',
    )
    .option('--all', 'the sessions of all folders')
    .option('--write', 'also offer tools that annotate sessions, send messages and start subagents')
    .option(
      '--install <client>',
      'print the command that adds the server to claude, codex or opencode; run it after asking',
    )
    .option('-y, --yes', 'with --install: do not ask')
    .action(async (options: Options) => (await import('../commands/mcp.ts')).mcp(options));
  addGlobals(command, LOCAL);
  addExamples(command, ['reprise mcp --install claude --all', 'reprise mcp --all --write']);
}
