import { COMMANDS, findCommand } from '../../engine/commands/commands.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { escapeForTerminal } from '../terminal/print.ts';
import { fileCompletions } from './input-files.ts';

const MAX_SESSIONS = 1000;

/** Candidates, and the part of the line they replace: the format readline expects. */
export type Completions = [readonly string[], string];

/** Completes command names, session names for commands that take one, and the paths of files in messages. */
export async function completions(line: string, store: Pick<Store, 'list'>): Promise<Completions> {
  const [, path] = /(?:^|\s)@(\S*)$/.exec(line) ?? [];
  if (path !== undefined) return [fileCompletions(path), path];
  const [, name, args] = /^\/(\S*)(?:\s+(.*))?$/s.exec(line) ?? [];
  if (name === undefined) return [[], line];
  if (args === undefined) return [commandNames(name).map((known) => `/${known} `), line];
  const wants = findCommand(name)?.args ?? '';
  if (wants.includes('command')) return [commandNames(args), args];
  if (!wants.includes('session')) return [[], args];
  const { sessions } = await store.list({ limit: MAX_SESSIONS, status: 'open' });
  return [refs(sessions, args), args];
}

function commandNames(start: string): string[] {
  const names = COMMANDS.filter(({ surfaces }) => surfaces.includes('repl')).flatMap(({ name, aliases }) => [
    name,
    ...aliases,
  ]);
  return names.filter((name) => name.startsWith(start.toLowerCase())).toSorted();
}

/** Session names, and ids only if the user has typed the start of one, because ids are hard to recognize. */
function refs(sessions: readonly SessionRecord[], start: string): string[] {
  const wanted = start.toLowerCase();
  const named = sessions.flatMap((record) => {
    const name = sessionName(record);
    // Leave out names that contain control characters or that a ref would not find.
    return name === (record.label ?? record.title) && name === escapeForTerminal(name) ? [name] : [];
  });
  const ids = start === '' ? [] : sessions.map(({ id }) => id);
  return [...new Set([...named, ...ids])].filter((name) => name.toLowerCase().startsWith(wanted));
}
