import { join } from 'node:path';
import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import type { SessionDocument } from '../../session-document.ts';
import { claudeCodeLines } from './claude-code.ts';
import { codexLines } from './codex.ts';
import { piLines } from './pi.ts';
import type { ClientName } from './tool-names.ts';

export interface ClientSession {
  /** A new id: the file of an existing session is never touched. */
  readonly id: string;
  /** The folder in which the agent will work. */
  readonly cwd: string;
  readonly now: Date;
  /** All messages instead of the current context. */
  readonly full: boolean;
}

/** What is known about the user's machine. */
export interface ClientMachine {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

interface ClientRow {
  readonly title: string;
  readonly write: (document: SessionDocument, session: ClientSession) => Iterable<string>;
  /** Where the agent looks for the file. */
  readonly place: (session: ClientSession, machine: ClientMachine) => string;
  /** The command that opens the session; it runs in `cwd`. */
  readonly start: (session: ClientSession, file: string) => readonly string[];
}

export const CLIENT_EXPORTS: Readonly<Record<ClientName, ClientRow>> = {
  'claude-code': {
    title: 'Claude Code',
    write: claudeCodeLines,
    place: ({ id, cwd }, { home, env }) =>
      join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'projects', claudeFolder(cwd), `${id}.jsonl`),
    start: ({ id }) => ['claude', '--resume', id],
  },
  codex: {
    title: 'Codex',
    write: codexLines,
    place: ({ id, now }, { home, env }) => {
      const [day = '', time = ''] = now.toISOString().slice(0, 19).split('T');
      const name = `rollout-${day}T${time.replaceAll(':', '-')}-${id}.jsonl`;
      return join(env['CODEX_HOME'] ?? join(home, '.codex'), 'sessions', ...day.split('-'), name);
    },
    start: ({ id }) => ['codex', 'resume', id],
  },
  pi: {
    title: 'pi',
    write: piLines,
    place: ({ id, cwd, now }, { home, env }) => {
      const folder = env['PI_CODING_AGENT_DIR'] ?? join(home, '.pi', 'agent');
      return join(
        folder,
        'sessions',
        piFolder(cwd),
        `${now.toISOString().replace(/[:.]/g, '-')}_${id}.jsonl`,
      );
    },
    start: (_, file) => ['pi', '--session', file],
  },
};

export const CLIENT_NAMES: readonly string[] = Object.keys(CLIENT_EXPORTS);

export function isClientName(name: unknown): name is ClientName {
  return typeof name === 'string' && Object.hasOwn(CLIENT_EXPORTS, name);
}

/** Claude Code shortens longer names by a rule of its own. */
const MAX_FOLDER_CHARS = 200;

function claudeFolder(cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, '-');
  if (name.length <= MAX_FOLDER_CHARS) return name;
  throw failure('LIMIT_EXCEEDED', 'export.longFolder', { folder: quoted(cwd), max: MAX_FOLDER_CHARS });
}

function piFolder(cwd: string): string {
  return `--${cwd.replace(/^[/\\]/, '').replace(/[/\\:]/g, '-')}--`;
}
