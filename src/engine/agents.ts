import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Model } from '../models/model.ts';
import type { SessionRecord } from '../store/store.ts';
import type { ProfileName } from './profiles.ts';
import type { SessionOptions } from './session-options.ts';
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
  return { ...agents.defaults, ...own };
}

/** The tools an agent may use: its file tools and the program's own, by its allow and deny lists. */
export function agentTools(
  { tools: { allow, deny = [] } = {}, workspace }: AgentOptions,
  given: readonly Tool[],
): Tool[] {
  const all = [...(workspace === undefined ? [] : createFileTools(workspace)), ...given];
  // A program's own tool of the same name takes the place of a built-in one.
  const byName = new Map(all.map((tool) => [tool.name, tool]));
  return [...byName.values()].filter(({ name }) => (allow?.includes(name) ?? true) && !deny.includes(name));
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
