import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failure } from '../../messages/failure.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { type Agents, agentOptions } from './agents.ts';
import { depthOf, policyOf } from './tool-policy.ts';

/** The session whose workspace is used: the session itself, or for a subagent the session at the top of its chain. */
export type WorkspaceOwner = Pick<SessionRecord, 'id' | 'sessionKey' | 'agentId'>;

const MAX_READABLE_CHARS = 48;

/** The folders of agents: `<home>/agents/<agent>/AGENT.md`, and beside it one workspace per conversation. */
export class Workspaces {
  readonly #home: string | undefined;
  readonly #agents: Agents;

  constructor(home: string | undefined, agents: Agents) {
    this.#home = home;
    this.#agents = agents;
  }

  /** @returns `undefined` for a subagent with an unknown parent: it must not get more than its parent had. */
  ownerOf(record: SessionRecord): WorkspaceOwner | undefined {
    if (depthOf(record) === 0) return record;
    return policyOf(agentOptions(this.#agents, record.agentId), record).workspaceOwner;
  }

  /**
   * The folder for file tools and memory notes. @returns `undefined` if there is neither a home nor a configured
   * workspace.
   */
  folderOf(record: SessionRecord): string | undefined {
    const owner = this.ownerOf(record);
    if (owner === undefined) return undefined;
    const { workspace, sandbox } = agentOptions(this.#agents, owner.agentId);
    // Agent ids and session ids are valid file names by their grammar.
    if (workspace !== undefined)
      return sandbox === 'session' ? join(workspace, 'sessions', owner.id) : workspace;
    return this.#home === undefined ? undefined : conversationFolder(this.#home, owner);
  }

  /** @returns `undefined` if file tools are off: for the agent, or for the session that a subagent works for. */
  fileToolsFolder(record: SessionRecord): string | undefined {
    const agentIds = [record.agentId, this.ownerOf(record)?.agentId];
    const isOn = agentIds.every((id) => id !== undefined && hasFileTools(this.#agents, id));
    return isOn ? this.folderOf(record) : undefined;
  }

  /**
   * The system prompt for a new session: the configured one, then the agent's AGENT.md. It is stored with the
   * session, so editing the file neither changes earlier turns nor breaks the provider's prompt cache.
   */
  async systemPromptFor(agentId: string): Promise<string> {
    const { systemPrompt = '' } = agentOptions(this.#agents, agentId);
    const extra =
      this.#home === undefined ? '' : await readInstructions(instructionsFile(this.#home, agentId));
    return [systemPrompt, extra.trim()].filter((part) => part !== '').join('\n\n');
  }
}

function hasFileTools(agents: Agents, agentId: string): boolean {
  const { fileTools, workspace } = agentOptions(agents, agentId);
  return fileTools ?? workspace !== undefined;
}

/**
 * Instructions for all conversations of an agent. The file is outside of every workspace, so no tool can write it.
 */
export function instructionsFile(home: string, agentId: string): string {
  return join(home, 'agents', agentId, 'AGENT.md');
}

/**
 * The workspace of one conversation. The hash separates keys that differ only in case or in characters that file
 * systems refuse; the readable part is for the owner.
 */
export function conversationFolder(
  home: string,
  { agentId, sessionKey }: Pick<SessionRecord, 'agentId' | 'sessionKey'>,
): string {
  const readable = sessionKey
    .replace(/^agent:[^:]*:/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_READABLE_CHARS);
  const hash = createHash('sha256').update(sessionKey).digest('hex').slice(0, 32);
  return join(home, 'agents', agentId, 'workspaces', `${readable}-${hash}`.replace(/^-+/, ''));
}

async function readInstructions(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    // A session must not start silently without the owner's instructions.
    throw failure('CONFIG_INVALID', 'instructions.unreadable', { file }, { details: { file }, cause: error });
  }
}
