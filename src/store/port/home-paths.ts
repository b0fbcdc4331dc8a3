import { basename, join } from 'node:path';
import { DEFAULT_AGENT_ID, parseAgentId, parseSessionId } from '../../keys/ids.ts';

/* Where the files of a home are. Pure: the home is an argument, and no file or environment is read. */

export interface AgentPathInput {
  readonly home: string;
  /** By default `main`. */
  readonly agentId?: string;
}

export interface SessionPathInput extends AgentPathInput {
  readonly sessionId: string;
}

/** The folder with the transcripts of an agent. */
export function resolveSessionTranscriptsDir({ home, agentId = DEFAULT_AGENT_ID }: AgentPathInput): string {
  return join(home, 'agents', parseAgentId(agentId), 'sessions');
}

/** The list of all open sessions of an agent, which Reprise writes and never reads. */
export function resolveDefaultSessionStorePath(input: AgentPathInput): string {
  return join(resolveSessionTranscriptsDir(input), 'sessions.json');
}

/** The transcript of a session. A thread or topic has its own session, so its name is not part of the path. */
export function resolveSessionTranscriptPath({ sessionId, ...input }: SessionPathInput): string {
  return join(resolveSessionTranscriptsDir(input), `${parseSessionId(sessionId)}.jsonl`);
}

/**
 * The transcript that an entry of `sessions.json` names. A path in `sessionFile` counts by its last part only, so that no
 * entry leads out of the folder.
 */
export function resolveSessionFilePath({
  entry,
  ...input
}: SessionPathInput & { readonly entry?: { readonly sessionFile?: string } }): string {
  const file = basename(entry?.sessionFile ?? '');
  if (!file.endsWith('.jsonl')) return resolveSessionTranscriptPath(input);
  return join(resolveSessionTranscriptsDir(input), file);
}
