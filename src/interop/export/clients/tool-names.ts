import type { JsonObject } from '../../../transcript/json.ts';

/** The agents that a session can be written for. */
export type ClientName = 'claude-code' | 'codex' | 'pi';

interface ToolForm {
  readonly name: string;
  /** The name of its main argument. */
  readonly argument: string;
}

/**
 * The same tool in each agent; the first column are other names by which a call may be stored. A model that sees calls
 * of tools it does not have would call them again.
 */
const TOOLS: readonly (Readonly<Record<ClientName, ToolForm>> & {
  readonly others: readonly ToolForm[];
})[] = [
  {
    'claude-code': { name: 'Bash', argument: 'command' },
    codex: { name: 'exec_command', argument: 'cmd' },
    pi: { name: 'bash', argument: 'command' },
    others: [
      { name: 'run_shell_command', argument: 'command' },
      { name: 'shell_command', argument: 'command' },
      { name: 'exec', argument: 'command' },
    ],
  },
  {
    'claude-code': { name: 'Read', argument: 'file_path' },
    codex: { name: 'read_file', argument: 'file_path' },
    pi: { name: 'read', argument: 'path' },
    others: [{ name: 'read', argument: 'filePath' }],
  },
  {
    'claude-code': { name: 'Write', argument: 'file_path' },
    codex: { name: 'write_file', argument: 'file_path' },
    pi: { name: 'write', argument: 'path' },
    others: [{ name: 'write', argument: 'filePath' }],
  },
  {
    'claude-code': { name: 'Edit', argument: 'file_path' },
    codex: { name: 'edit_file', argument: 'file_path' },
    pi: { name: 'edit', argument: 'path' },
    others: [
      { name: 'edit', argument: 'filePath' },
      { name: 'replace', argument: 'file_path' },
    ],
  },
  {
    'claude-code': { name: 'Grep', argument: 'pattern' },
    codex: { name: 'grep_files', argument: 'pattern' },
    pi: { name: 'grep', argument: 'pattern' },
    others: [{ name: 'search_file_content', argument: 'pattern' }],
  },
  {
    'claude-code': { name: 'Glob', argument: 'pattern' },
    codex: { name: 'glob_files', argument: 'pattern' },
    pi: { name: 'find', argument: 'pattern' },
    others: [{ name: 'glob', argument: 'pattern' }],
  },
  {
    'claude-code': { name: 'LS', argument: 'path' },
    codex: { name: 'list_dir', argument: 'dir_path' },
    pi: { name: 'ls', argument: 'path' },
    others: [
      { name: 'list', argument: 'path' },
      { name: 'list_directory', argument: 'path' },
    ],
  },
];

/** A call by the names of the target. A tool without a row keeps its name and input. */
export function callFor(
  client: ClientName,
  name: string,
  input: JsonObject,
): { readonly name: string; readonly input: JsonObject } {
  for (const row of TOOLS) {
    const forms = [row['claude-code'], row.codex, row.pi, ...row.others].filter((form) => form.name === name);
    if (forms.length === 0) continue;
    const to = row[client];
    const from = forms.find(({ argument }) => argument in input);
    if (from === undefined || from.argument === to.argument || to.argument in input)
      return { name: to.name, input };
    const renamed = Object.entries(input).map(([key, value]) => [
      key === from.argument ? to.argument : key,
      value,
    ]);
    return { name: to.name, input: Object.fromEntries(renamed) as JsonObject };
  }
  return { name, input };
}
