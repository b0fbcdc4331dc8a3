import { isObject } from '../transcript/json.ts';
import type { AgentOptions } from './agents/agents.ts';
import { checkAgents } from './agents/check-agents.ts';
import { checkNames, configFault } from './check-config.ts';
import type { RepriseOptions } from './reprise.ts';
import type { LaneLimits } from './schedule/lanes.ts';
import { checkSessionOptions, type SessionOptions } from './session-options.ts';
import { checkTool, toolFault } from './tools/define-tool.ts';
import type { Tool } from './tools/tool.ts';

/** Every name of an interface; the compiler reports a missing one. */
type Names<T> = Readonly<Record<keyof T, true>>;

const OPTIONS: Names<RepriseOptions> = {
  ...{ store: true, model: true, modelByName: true, loadModel: true, modelOverride: true },
  ...{ contextTokens: true, agents: true, home: true, tools: true, profile: true, compaction: true },
  ...{ session: true, clock: true, maxSteps: true, lanes: true, stuckAfterMs: true, run: true },
};
const COMPACTION: Names<NonNullable<RepriseOptions['compaction']>> = {
  ...{ cut: true, trigger: true, background: true, summaryTimeoutMs: true, memoryFlush: true },
};
const LANES: Names<LaneLimits> = { turns: true, children: true, background: true };
const SESSION: Names<SessionOptions> = {
  ...{ enabled: true, historyLimit: true, queue: true, sendPolicy: true, senderCommands: true },
  ...{
    historyTurns: true,
    historyTurnsByType: true,
    historyTurnsByChannel: true,
    historyTurnsBySender: true,
  },
  ...{ maintenance: true, threads: true, reset: true, resetByType: true, resetByChannel: true },
  ...{ timeZone: true, resetTriggers: true, scope: true, dmScope: true, mainKey: true },
  ...{ ownChannels: true, identityLinks: true, bindings: true, defaultAgent: true },
};
const AGENT: Names<AgentOptions> = {
  ...{ systemPrompt: true, model: true, contextTokens: true, profile: true, tools: true, fileTools: true },
  ...{
    workspace: true,
    sandbox: true,
    allowAgents: true,
    subagents: true,
    sessionTools: true,
    session: true,
  },
};

/**
 * Checks the options of an engine before anything is opened: a misspelled option would otherwise have no effect, and
 * an invalid tool would fail in the middle of a turn.
 */
export function checkOptions(
  options: Omit<RepriseOptions, 'store' | 'model'>,
  more: readonly string[] = [],
): void {
  checkNames('openReprise', options, [...Object.keys(OPTIONS), ...more]);
  const { agents = {}, tools, compaction, lanes, session = {}, home } = options;
  if (compaction !== undefined) checkNames('compaction', compaction, Object.keys(COMPACTION));
  if (lanes !== undefined) checkNames('lanes', lanes, Object.keys(LANES));
  checkNames('session', session, Object.keys(SESSION));
  checkSessionOptions(session);
  for (const [agentId, agent = {}] of Object.entries(agents))
    checkNames(`agents.${agentId}`, agent, Object.keys(AGENT));
  checkAgents(agents, home);
  if (tools !== undefined && typeof tools !== 'function') checkTools(tools);
}

const TOOL_PARTS = ['name', 'description', 'inputSchema', 'run'];
/** Checks a list of tools: of the options, or what a function in its place returned. */
export function checkTools(tools: unknown, field = 'tools'): asserts tools is readonly Tool[] {
  if (!Array.isArray(tools))
    throw configFault(field, tools, { is: 'list', of: [{ is: 'object', names: TOOL_PARTS }] });
  const seen = new Set<unknown>();
  for (const [i, tool] of tools.entries()) {
    if (!isObject(tool)) throw configFault(`${field}.${i}`, tool, { is: 'object', names: TOOL_PARTS });
    checkTool(tool, `${field}.${i}.`);
    if (seen.has(tool['name']))
      throw toolFault('nameTaken', { field: `${field}.${i}.name`, value: tool['name'] });
    seen.add(tool['name']);
  }
}
