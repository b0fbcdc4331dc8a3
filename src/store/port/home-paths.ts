import { basename, join } from 'node:path';
import { DEFAULT_AGENT_ID, parseAgentId, parseSessionId } from '../../keys/ids.ts';

/* Paths of the files in a home. Pure: the caller passes the home; nothing reads the disk or the environment. */

export interface AgentPathInput {
  readonly home: string;
  /** `main` by default. */
  readonly agentId?: string;
}

export interface SessionPathInput extends AgentPathInput {
  readonly sessionId: string;
}

/** The folder with the transcripts of an agent. */
export function resolveSessionTranscriptsDir({ home, agentId = DEFAULT_AGENT_ID }: AgentPathInput): string {
  return join(home, 'agents', parseAgentId(agentId), 'sessions');
}

/**
 * The path of `sessions.json`, the list of all open sessions of an agent. Reprise writes this file and never reads
 * it.
 */
export function resolveDefaultSessionStorePath(input: AgentPathInput): string {
  return join(resolveSessionTranscriptsDir(input), 'sessions.json');
}

/**
 * The path of a transcript. Threads and topics have sessions of their own, so their names are not part of the path.
 */
export function resolveSessionTranscriptPath({ sessionId, ...input }: SessionPathInput): string {
  return join(resolveSessionTranscriptsDir(input), `${parseSessionId(sessionId)}.jsonl`);
}

/**
 * The path of the transcript that an entry of `sessions.json` names. Only the last part of `sessionFile` counts, so
 * no entry can point outside the folder.
 */
export function resolveSessionFilePath({
  entry,
  ...input
}: SessionPathInput & { readonly entry?: { readonly sessionFile?: string } }): string {
  const file = basename(entry?.sessionFile ?? '');
  if (!file.endsWith('.jsonl')) return resolveSessionTranscriptPath(input);
  return join(resolveSessionTranscriptsDir(input), file);
}
