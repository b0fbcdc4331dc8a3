import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../engine/commands/command-context.ts';
import { escapeForTerminal, say } from './print.ts';
import { shellWord } from './shell-word.ts';

/** The folders of agents' files in a home, those that hold something: they are in no store, and in no copy of one. */
export function workspacesIn(home: string): readonly string[] {
  const folders = namesIn(join(home, 'agents'))
    ?.toSorted()
    .map((agent) => join('agents', agent, 'workspace'));
  return (folders ?? ['agents']).filter(
    (folder) => existsSync(join(home, folder)) && namesIn(join(home, folder))?.length !== 0,
  );
}

/** Undefined: a file, or a folder that may not be read. It counts as holding something, and whoever copies it learns more. */
function namesIn(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}

/** One line with the command that does it: `tar`, because `cp` makes no folders on the way. */
export function tellWorkspaces(home: string, folders: readonly string[], to: string | undefined): void {
  if (folders.length === 0) return;
  const names = folders.map(shellWord).join(' ');
  const pack = (file: string): string => `tar -C ${shellWord(home)} -cf ${file} ${names}`;
  const command = to === undefined ? pack('workspaces.tar') : `${pack('-')} | tar -C ${shellWord(to)} -xf -`;
  const what = `${counted(folders.length, 'workspace')} with files of agents`;
  say(`Not copied: ${what}. To take along: ${escapeForTerminal(command)}`);
}
