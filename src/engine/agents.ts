import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from '../models/model.ts';
import type { SessionRecord } from '../store/store.ts';
import type { ProfileName } from './profiles.ts';
import type { SessionOptions } from './session-options.ts';
import { allows, depthOf, policyOf, type SessionReachName } from './tool-policy.ts';
import { createFileTools } from './tools/file-tools.ts';
import type { Tool } from './tools/tool.ts';

export interface AgentOptions {
  readonly systemPrompt?: string;
  readonly model?: Model;
  readonly contextTokens?: number;
  /** The ways of one of the systems in `PROFILES`; a session's own setting wins. */
  readonly profile?: ProfileName;
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /** The folder its file tools may touch; unset: no file tools. */
  readonly workspace?: string;
  /** `session`: each session has a folder of its own in the workspace, so that people cannot read each other's files. */
  readonly sandbox?: 'off' | 'session';
  /** Agents its sessions may give work to, or `*`; its own always. */
  readonly allowAgents?: readonly string[] | '*';
  readonly subagents?: {
    /** 1: children have no children. */
    readonly maxDepth?: number;
    /** How many children of one session may wait or run at once. */
    readonly maxChildren?: number;
  };
  /** Tools that list, read, search, spawn and write to sessions. Unset: where children are configured. */
  readonly sessionTools?: boolean | { readonly scope?: SessionReachName };
  /** What holds for the conversations of this agent instead. */
  readonly session?: SessionOptions;
}

export interface Agents {
  readonly defaults?: AgentOptions;
  readonly [agentId: string]: AgentOptions | undefined;
}

/** What is configured for an agent, with the defaults filled in. */
export function agentOptions(agents: Agents, agentId: string): AgentOptions {
  const own =
    agentId === 'defaults' ? undefined : Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  const { defaults } = agents;
  // An agent that says what it allows does not lose what is denied to all.
  const tools = { ...defaults?.tools, ...own?.tools };
  const subagents = { ...defaults?.subagents, ...own?.subagents };
  return {
    ...defaults,
    ...own,
    ...(Object.keys(tools).length > 0 && { tools }),
    ...((defaults?.subagents ?? own?.subagents) !== undefined && { subagents }),
  };
}

export interface AgentInfo {
  readonly id: string;
  /** Who answers where a session has not chosen: `provider/model`. */
  readonly model: string;
  readonly profile?: ProfileName;
}

export function agentInfos(
  agents: Agents,
  otherwise: { readonly model: Model; readonly profile: ProfileName | undefined },
): AgentInfo[] {
  const ids = new Set(['main', ...Object.keys(agents).filter((id) => id !== 'defaults')]);
  return [...ids].map((id) => {
    const { model = otherwise.model, profile = otherwise.profile } = agentOptions(agents, id);
    return { id, model: `${model.provider}/${model.id}`, ...(profile !== undefined && { profile }) };
  });
}

export interface ToolSources {
  /** The program's own. */
  readonly given: readonly Tool[];
  readonly sessionTools: readonly Tool[];
}

/** The tools a session may use: those of its agent, by the lists of the agent and of whoever spawned it. */
export function agentTools(
  agent: AgentOptions,
  record: SessionRecord,
  { given, sessionTools }: ToolSources,
): Tool[] {
  const workspace = workspaceOf(agent, record);
  const policy = policyOf(agent, record);
  const all = [
    ...(workspace === undefined ? [] : createFileTools(workspace)),
    ...(hasSessionTools(agent, sessionTools) ? sessionTools : []),
    ...given,
  ];
  // A program's own tool of the same name takes the place of a built-in one.
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  if (depthOf(record) >= policy.maxDepth) byName.delete('sessions_spawn');
  return [...byName.values()].filter(({ name }) => allows(policy, name));
}

function hasSessionTools(
  { sessionTools, allowAgents, subagents, tools }: AgentOptions,
  all: readonly Tool[],
): boolean {
  if (typeof sessionTools === 'boolean') return sessionTools;
  const isNamed = all.some(({ name }) => tools?.allow?.includes(name));
  return isNamed || sessionTools !== undefined || allowAgents !== undefined || subagents !== undefined;
}

/** The folder of a session's files and notes. An id is a file name by its grammar. */
export function workspaceOf(
  { workspace, sandbox = 'off' }: AgentOptions,
  { id }: SessionRecord,
): string | undefined {
  if (workspace === undefined || sandbox === 'off') return workspace;
  return join(workspace, 'sessions', id);
}

/**
 * The system prompt is fixed when a session starts, AGENT.md of its workspace included, so that editing the file does
 * not change what earlier turns were told, nor break a provider's cache.
 */
export async function systemPromptFor({ systemPrompt = '', workspace }: AgentOptions): Promise<string> {
  if (workspace === undefined) return systemPrompt;
  const extra = await readFile(join(workspace, 'AGENT.md'), 'utf8').catch(() => ''); // most have none
  return [systemPrompt, extra.trim()].filter((part) => part !== '').join('\n\n');
}

export function storedSystemPrompt({ settings }: SessionRecord): string | undefined {
  const { systemPrompt } = settings;
  return typeof systemPrompt === 'string' ? systemPrompt : undefined;
}
