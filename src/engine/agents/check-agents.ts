import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { checkNames, checkOneOf, configFault } from '../check-config.ts';
import type { Agents } from './agents.ts';
import { SESSION_REACHES } from './tool-policy.ts';

/** Checks the options that decide what an agent may do: a typo there must not silently permit or forbid something. */
export function checkAgents(agents: Agents, home?: string): void {
  for (const [agentId, options = {}] of Object.entries(agents)) {
    const field = (name: string): string => `agents.${agentId}.${name}`;
    const { fileTools, workspace, sandbox, allowAgents, subagents, sessionTools, tools } = options;
    if (fileTools !== undefined && typeof fileTools !== 'boolean')
      throw configFault(field('fileTools'), fileTools, { is: 'boolean' });
    if (workspace !== undefined) checkWorkspace(field('workspace'), workspace, home);
    else if (fileTools === true && home === undefined && agents.defaults?.workspace === undefined)
      throw failure(
        'CONFIG_INVALID',
        'setting.fileToolsFolder',
        { field: field('fileTools') },
        { details: { field: field('fileTools') } },
      );
    if (sandbox !== undefined) checkOneOf(field('sandbox'), sandbox, ['off', 'session']);
    if (allowAgents !== undefined && allowAgents !== '*') checkTexts(field('allowAgents'), allowAgents);
    if (tools !== undefined) {
      const { allow = [], deny = [] } = checkNames(field('tools'), tools, ['allow', 'deny']);
      checkTexts(field('tools.allow'), allow);
      checkTexts(field('tools.deny'), deny);
    }
    if (subagents !== undefined) {
      const counts = checkNames(field('subagents'), subagents, ['maxDepth', 'maxChildren']);
      for (const [name, value] of Object.entries(counts)) checkCount(field(`subagents.${name}`), value);
    }
    if (sessionTools === undefined || typeof sessionTools === 'boolean') continue;
    const { scope } = checkNames(field('sessionTools'), sessionTools, ['scope']);
    if (scope !== undefined) checkOneOf(field('sessionTools.scope'), scope, SESSION_REACHES);
  }
}

/** Refuses a workspace that contains the home: tools could change AGENT.md, transcripts and the server's token. */
function checkWorkspace(field: string, workspace: unknown, home: string | undefined): void {
  if (typeof workspace !== 'string' || workspace === '')
    throw configFault(field, workspace, { is: 'folder' });
  if (home === undefined) return;
  const fromHome = relative(realFolder(home), realFolder(workspace)).split(sep);
  const containsHome = fromHome.every((name) => name === '..' || name === '');
  const [first, , third] = fromHome;
  if (!containsHome && (first !== 'agents' || third === 'workspace')) return;
  const params = { field, workspace: quotedValue(workspace), home };
  throw failure('CONFIG_INVALID', 'setting.workspaceInHome', params, { details: { field } });
}

/** The path without links, as far as it exists. */
function realFolder(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    const parent = dirname(absolute); // does not exist yet
    return parent === absolute ? absolute : join(realFolder(parent), basename(absolute));
  }
}

function checkTexts(field: string, value: unknown): void {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return;
  throw configFault(field, value, { is: 'list', of: [{ is: 'text' }] });
}

function checkCount(field: string, value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return;
  throw configFault(field, value, { is: 'integer', min: 0 });
}
