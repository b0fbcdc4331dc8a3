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
  /** The ways of one of the systems in `PROFILES`; a session's own setting wins. */
  readonly profile?: ProfileName;
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  /**
   * Whether it has the tools `read_file`, `write_file`, `edit_file` and `list_directory`.
   * @default true if `workspace` is set, otherwise false
   */
  readonly fileTools?: boolean;
  /**
   * One folder for the files and memory notes of all conversations of this agent: every sender can read and change what
   * others wrote there. Unset: each conversation has its own workspace in the home.
   */
  readonly workspace?: string;
  /** `session`: inside `workspace` each session has its own folder, `sessions/<session id>`. */
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
  /** Unset: the session has no file tools. */
  readonly fileToolsFolder: string | undefined;
}

/** The tools a session may use: those of its agent, limited by the lists of the agent and, for a subagent, of its parents. */
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

export function storedSystemPrompt({ settings }: SessionRecord): string | undefined {
  const { systemPrompt } = settings;
  return typeof systemPrompt === 'string' ? systemPrompt : undefined;
}
