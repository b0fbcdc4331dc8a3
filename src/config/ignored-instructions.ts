import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Agents, agentOptions } from '../engine/agents/agents.ts';
import { instructionsFile } from '../engine/agents/workspaces.ts';

/**
 * Finds AGENT.md files in shared workspaces. Up to version 0.1 such a file was part of the system prompt, although file
 * tools could write it. It is ignored now until the owner, who knows who wrote it, moves it.
 */
export function ignoredInstructions(home: string, agents: Agents): string[] {
  return agentsIn(home, agents).flatMap((agentId) => {
    const { workspace = join(home, 'agents', agentId, 'workspace') } = agentOptions(agents, agentId);
    const old = join(workspace, 'AGENT.md');
    const current = instructionsFile(home, agentId);
    // An owner who has written the new file has decided.
    if (!existsSync(old) || existsSync(current)) return [];
    return [
      `${old} is ignored: instructions of agent ${agentId} belong to ${current}, where no tool can write. ` +
        `Read it first, because senders could write it. To use it: mv ${quoted(old)} ${quoted(current)}`,
    ];
  });
}

function agentsIn(home: string, agents: Agents): string[] {
  let found: string[] = [];
  try {
    found = readdirSync(join(home, 'agents'));
  } catch {
    // A new home, or one on another machine.
  }
  return [...new Set([...found, ...Object.keys(agents)])].filter((id) => id !== 'defaults').sort();
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}
