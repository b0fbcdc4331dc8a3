import type { Model } from '../../models/model.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import type { SessionOptions } from '../session-options.ts';
import { createFileTools } from '../tools/file-tools.ts';
import type { Tool } from '../tools/tool.ts';
import type { ProfileName } from './profiles.ts';
import { allows, depthOf, policyOf, type SessionReachName } from './tool-policy.ts';

export interface AgentOptions {
  readonly systemPrompt?: string;
  readonly model?: Model;
  readonly contextTokens?: number;
  /** A profile, one of `PROFILES`; a session's own setting wins. */
  readonly profile?: ProfileName;
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /**
   * Whether it has the tools `read_file`, `write_file`, `edit_file` and `list_directory`.
   * @default true if `workspace` is set, otherwise false
   */
  readonly fileTools?: boolean;
  /**
   * One folder for the files and memory notes of all conversations of this agent: every sender can read and change
   * what other senders wrote. Unset: each conversation has its own workspace in the home.
   */
  readonly workspace?: string;
  /** `session`: each session gets the folder `sessions/<session id>` inside `workspace`. */
  readonly sandbox?: 'off' | 'session';
  /** Agents to which its sessions may give tasks, or `*`; the agent itself is always allowed. */
  readonly allowAgents?: readonly string[] | '*';
  readonly subagents?: {
    /** 1: children cannot have children. */
    readonly maxDepth?: number;
    /** How many children of one session may wait or run at once. */
    readonly maxChildren?: number;
  };
  /** Tools that list, read, search, spawn and write to sessions. Unset: enabled if children are configured. */
  readonly sessionTools?: boolean | { readonly scope?: SessionReachName };
  /** Session options that override the general ones for this agent. */
  readonly session?: SessionOptions;
}

export interface Agents {
  readonly defaults?: AgentOptions;
  readonly [agentId: string]: AgentOptions | undefined;
}

/** The configuration of an agent, with the defaults filled in. */
export function agentOptions(agents: Agents, agentId: string): AgentOptions {
  const own =
    agentId === 'defaults' ? undefined : Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  const { defaults } = agents;
  // An agent that allows tools still has the default denials.
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
  /** The model for sessions that have not chosen one: `provider/model`. */
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
  /** Tools of the embedding program. */
  readonly given: readonly Tool[];
  readonly sessionTools: readonly Tool[];
  /** Unset: the session has no file tools. */
  readonly fileToolsFolder: string | undefined;
}

/**
 * The tools that a session may use: those of its agent, limited by the agent's lists and, for a subagent, by those of
 * its parents.
 */
export function agentTools(
  agent: AgentOptions,
  record: SessionRecord,
  { given, sessionTools, fileToolsFolder }: ToolSources,
): Tool[] {
  const policy = policyOf(agent, record);
  const all = [
    ...(fileToolsFolder === undefined ? [] : createFileTools(fileToolsFolder)),
    ...(hasSessionTools(agent, sessionTools) ? sessionTools : []),
    ...given,
  ];
  // A program's tool replaces a built-in one of the same name.
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

export function storedSystemPrompt({ settings }: SessionRecord): string | undefined {
  const { systemPrompt } = settings;
  return typeof systemPrompt === 'string' ? systemPrompt : undefined;
}
