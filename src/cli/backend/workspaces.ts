import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../messages/english-format.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import { shellWord } from '../terminal/shell-word.ts';

/** Workspaces and instructions of agents that are in no store, so also in no backup and no copy of one. */
const AGENT_FILES = ['AGENT.md', 'workspace', 'workspaces'];

/** Paths in the home of all workspaces that hold something, and of each AGENT.md. */
export function workspacesIn(home: string): readonly string[] {
  const paths = namesIn(join(home, 'agents'))
    ?.toSorted()
    .flatMap((agent) => AGENT_FILES.map((name) => join('agents', agent, name)));
  return (paths ?? ['agents']).filter(
    (path) => existsSync(join(home, path)) && namesIn(join(home, path))?.length !== 0,
  );
}

/** @returns undefined for a file, or for a folder that cannot be read: both count as holding something. */
function namesIn(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

/** Prints the command that copies them: `tar`, because `cp` does not create parent folders. */
export function tellWorkspaces(home: string, folders: readonly string[], to: string | undefined): void {
  if (folders.length === 0) return;
  const names = folders.map(shellWord).join(' ');
  const pack = (file: string): string => `tar -C ${shellWord(home)} -cf ${file} ${names}`;
  const command = to === undefined ? pack('workspaces.tar') : `${pack('-')} | tar -C ${shellWord(to)} -xf -`;
  const what = `workspaces and AGENT.md of agents (${counted(folders.length, 'path')})`;
  say(`Not copied: ${what}. To copy: ${escapeForTerminal(command)}`);
}
