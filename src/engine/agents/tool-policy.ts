import { isSessionId } from '../../keys/ids.ts';
import { isSubagentSessionKey } from '../../keys/predicates.ts';
import { agentOfKey } from '../../keys/session-key.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { AgentOptions } from './agents.ts';
import type { WorkspaceOwner } from './workspaces.ts';

/** The sessions that the session tools can reach: the caller's own and its children's, those of its agent, or all. */
export type SessionReachName = 'tree' | 'agent' | 'all';

export const SESSION_REACHES: readonly SessionReachName[] = ['tree', 'agent', 'all'];

/**
 * The tools that a session may use. A child's policy is stored with it, so that it has no more rights than its
 * parent.
 */
export interface ToolPolicy {
  /** Unset: every tool that is not denied. */
  readonly allow?: readonly string[];
  readonly deny: readonly string[];
  readonly reach: SessionReachName;
  /** Maximum nesting depth; a session at this depth cannot have children. */
  readonly maxDepth: number;
  /** For a subagent: the session whose workspace it uses. Unset: it has no workspace. */
  readonly workspaceOwner?: WorkspaceOwner;
}

const DEFAULT_MAX_DEPTH = 1;

/** The policy of a session's agent, limited for a child by the policy of its parents. */
export function policyOf(agent: AgentOptions, { settings }: Pick<SessionRecord, 'settings'>): ToolPolicy {
  const { tools: { allow, deny = [] } = {}, sessionTools, subagents } = agent;
  const own: ToolPolicy = {
    ...(allow !== undefined && { allow }),
    deny,
    reach: (typeof sessionTools === 'object' ? sessionTools.scope : undefined) ?? 'tree',
    maxDepth: subagents?.maxDepth ?? DEFAULT_MAX_DEPTH,
  };
  const { toolPolicy } = settings;
  return toolPolicy === undefined ? own : narrow(own, readPolicy(toolPolicy));
}

export function allows({ allow, deny }: ToolPolicy, name: string): boolean {
  return (allow?.includes(name) ?? true) && !deny.includes(name);
}

/** The tools that both the agent and the stored policy of a subagent permit. */
function narrow(one: ToolPolicy, other: ToolPolicy): ToolPolicy {
  const lists = [one.allow, other.allow].filter((list) => list !== undefined);
  const [first, second = first] = lists;
  const allow = first?.filter((name) => second?.includes(name));
  const rank = (reach: SessionReachName): number => SESSION_REACHES.indexOf(reach);
  return {
    ...(allow !== undefined && { allow }),
    deny: [...new Set([...one.deny, ...other.deny])],
    reach: rank(one.reach) < rank(other.reach) ? one.reach : other.reach,
    maxDepth: Math.min(one.maxDepth, other.maxDepth),
    ...(other.workspaceOwner !== undefined && { workspaceOwner: other.workspaceOwner }),
  };
}

/** The policy to store with a subagent. The parent never had access to sessions of another agent. */
export function childPolicy(
  { workspaceOwner: _, ...policy }: ToolPolicy,
  { isSameAgent, owner }: { readonly isSameAgent: boolean; readonly owner: WorkspaceOwner | undefined },
): JsonObject {
  const reach = isSameAgent || policy.reach === 'all' ? policy.reach : 'tree';
  const workspace = owner && { workspaceOwner: { sessionKey: owner.sessionKey, sessionId: owner.id } };
  return { ...policy, reach, ...workspace };
}

/** Settings may come from other tools: an invalid policy permits nothing. */
function readPolicy(value: unknown): ToolPolicy {
  const { allow, deny, reach, maxDepth, workspaceOwner } = isObject(value) ? value : { allow: [] };
  const owner = readOwner(workspaceOwner);
  return {
    ...(allow !== undefined && { allow: texts(allow) }),
    deny: texts(deny),
    reach: SESSION_REACHES.find((each) => each === reach) ?? 'tree',
    maxDepth: typeof maxDepth === 'number' ? maxDepth : 0,
    ...(owner !== undefined && { workspaceOwner: owner }),
  };
}

function readOwner(value: unknown): WorkspaceOwner | undefined {
  const { sessionKey, sessionId } = isObject(value) ? value : {};
  if (typeof sessionKey !== 'string' || typeof sessionId !== 'string' || !isSessionId(sessionId))
    return undefined;
  try {
    return { sessionKey, id: sessionId, agentId: agentOfKey(sessionKey) };
  } catch {
    return undefined; // not a session key
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

/** Number of parents above a session. */
export function depthOf({ settings, sessionKey }: SessionRecord): number {
  const { depth } = settings;
  const stored = typeof depth === 'number' && depth > 0 ? depth : 0;
  return Math.max(stored, isSubagentSessionKey(sessionKey) ? 1 : 0);
}
