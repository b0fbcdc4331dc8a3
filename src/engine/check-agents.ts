import { isObject } from '../transcript/json.ts';
import type { Agents } from './agents.ts';
import { checkNames, checkOneOf, configFault } from './check-config.ts';
import { SESSION_REACHES } from './tool-policy.ts';

/** What concerns who may do what: a slip there must not open or close a door silently. */
export function checkAgents(agents: Agents): void {
  for (const [agentId, options = {}] of Object.entries(agents)) {
    const field = (name: string): string => `agents.${agentId}.${name}`;
    const { sandbox, allowAgents, subagents, sessionTools, tools } = options;
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

function checkTexts(field: string, value: unknown): void {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return;
  throw configFault(field, isObject(value) ? 'an object' : value, 'It is a list of names.');
}

function checkCount(field: string, value: unknown): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return;
  throw configFault(field, value, 'It is a whole number, 0 or more.');
}
