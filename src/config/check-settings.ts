import { z } from 'zod';
import { parseMaintenanceRules } from '../engine/admin/maintenance-rules.ts';
import { checkAgents } from '../engine/agents/check-agents.ts';
import { closestName } from '../engine/closest-name.ts';
import { checkSessionOptions } from '../engine/session-options.ts';
import { RepriseError } from '../errors.ts';
import { parseAgentId } from '../keys/ids.ts';
import { expectedText } from '../messages/expected-text.ts';
import { failure, failureOf } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';
import { isObject } from '../transcript/json.ts';
import { expectedAt, namesAt, typesAt } from './allowed.ts';
import { shownValue } from './mask.ts';
import type { Place } from './parse-json.ts';
import { type Config, settingsSchema } from './schema.ts';
import { settingAt } from './settings.ts';

/** The source of a setting, as error messages name it: a file, a variable or a flag. */
export interface Said {
  readonly by: string;
  readonly placeOf?: (path: string) => Place | undefined;
}

/**
 * Checks a whole file. @returns its settings by path.
 */
export function checkTree(tree: unknown, said: Said): Map<string, unknown> {
  if (!isObject(tree))
    throw failure(
      'CONFIG_INVALID',
      'config.badFile',
      { file: said.by, problem: 'notAnObject' },
      { details: { file: said.by } },
    );
  const { error } = settingsSchema.safeParse(tree);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) throw faultOf(issue, tree, said);
  const { agents } = tree;
  for (const agentId of isObject(agents) ? Object.keys(agents) : []) checkAgentId(agentId, said);
  const found = new Map<string, unknown>();
  gather(tree, [], found);
  return found;
}

/** Collects values down to the rows of the settings table; anything below a row is one value. */
function gather(value: unknown, path: readonly string[], into: Map<string, unknown>): void {
  const name = path.join('.');
  if (settingAt(name) !== undefined) into.set(name, value);
  else if (isObject(value) && path[0] === 'agents' && path.length === 2 && Object.keys(value).length === 0)
    // An agent without settings is still defined by its name.
    into.set(name, value);
  else if (isObject(value))
    for (const [key, each] of Object.entries(value)) gather(each, [...path, key], into);
}

/** One setting from the environment or the command line, where all values are text. */
export function checkText(path: string, text: string, said: Said): unknown {
  const steps = path.split('.');
  const value = read(text, typesAt(steps));
  let tree: unknown = value;
  for (const step of steps.toReversed()) tree = { [step]: tree };
  const { error } = settingsSchema.safeParse(tree);
  if (error === undefined) return value;
  const params = { field: said.by, value: shownValue(path, text), expected: expectedAt(steps) };
  throw failure('CONFIG_INVALID', 'value.wrong', params, { details: { field: path, from: said.by } });
}

/** Text that cannot be parsed stays text; the schema then refuses it. */
function read(text: string, types: readonly z.core.$ZodType[]): unknown {
  for (const type of types) {
    if (type instanceof z.ZodNumber && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
    if (type instanceof z.ZodBoolean && /^(true|false|1|0)$/.test(text))
      return text === 'true' || text === '1';
    if (type instanceof z.ZodLiteral && type.values.has(false) && text === 'false') return false;
    const isTexts =
      type instanceof z.ZodArray && (type.element instanceof z.ZodString || type.element instanceof z.ZodURL);
    if (isTexts && !text.startsWith('[')) return text.split(',').map((each) => each.trim());
    if (!(type instanceof z.ZodObject || type instanceof z.ZodRecord || type instanceof z.ZodArray)) continue;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // Not JSON: keep the text, which the schema refuses.
    }
  }
  return text;
}

function faultOf(issue: z.core.$ZodIssue, tree: unknown, said: Said): RepriseError {
  if (issue.code === 'unrecognized_keys') return unknownName(issue.path, issue.keys[0] ?? '', said);
  // A record's own names are checked too; the path then ends at the name.
  const path = issue.path.map(String);
  const value = valueAt(tree, path);
  const field = path.join('.');
  const expected = expectedAt(path);
  const shown = value === undefined ? null : shownValue(field, value);
  return failure(
    'CONFIG_INVALID',
    'value.wrong',
    { field, value: shown, expected, ...placeIn(said, field) },
    { details: { field, file: said.by, allowed: expectedText(expected) } },
  );
}

function unknownName(path: readonly PropertyKey[], name: string, said: Said): RepriseError {
  const known = namesAt(path);
  const parent = path.map(String).join('.');
  const field = parent === '' ? name : `${parent}.${name}`;
  return failure(
    'CONFIG_INVALID',
    'value.unknownName',
    { field: parent, name, suggestion: closestName(name, known) ?? null, known, ...placeIn(said, field) },
    { details: { field, file: said.by } },
  );
}

function checkAgentId(agentId: string, said: Said): void {
  try {
    parseAgentId(agentId);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.why?.code !== 'id.badAgent') throw error;
    const field = `agents.${agentId}`;
    throw failure(
      'CONFIG_INVALID',
      'setting.badAgentId',
      { ...error.why.params, field, ...placeIn(said, field) },
      { details: { field, file: said.by }, cause: error },
    );
  }
}

function placeIn({ by, placeOf }: Said, path: string): { readonly origin: string; readonly line?: number } {
  const place = placeOf?.(path) ?? placeOf?.(path.slice(0, Math.max(0, path.lastIndexOf('.'))));
  return { origin: by, ...(place !== undefined && { line: place.line }) };
}

function valueAt(tree: unknown, path: readonly string[]): unknown {
  let value = tree;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** Checks rules that involve several settings. The engine would refuse them too, but without naming the file. */
export function checkTogether({ home, agents, session }: Config, originOf: (path: string) => string): void {
  const { maintenance, ...options } = session;
  attributed('session', originOf, () => checkSessionOptions(options));
  if (maintenance !== undefined)
    attributed('session', originOf, () => void parseMaintenanceRules(maintenance));
  for (const [agentId, { model, session: own, ...agent }] of Object.entries(agents)) {
    attributed('', originOf, () => checkAgents({ [agentId]: agent }, home));
    if (own !== undefined) attributed(`agents.${agentId}.session`, originOf, () => checkSessionOptions(own));
  }
}

function joined(prefix: string, field: unknown): string {
  return [prefix, field].filter((each) => typeof each === 'string' && each !== '').join('.');
}

/** Adds where the setting comes from to an error of a check. */
function attributed(prefix: string, originOf: (path: string) => string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const { why, details } = error;
    if (why === undefined) throw error;
    const path = joined(prefix, details['field']);
    // The check names the field from where it stands, such as `reset.mode` of an agent.
    const named = 'field' in why.params && { field: joined(prefix, why.params.field) };
    const located = {
      code: why.code,
      params: { ...why.params, ...named, origin: originOf(path) },
    } as Message;
    throw failureOf('CONFIG_INVALID', located, { details: { ...details, field: path }, cause: error });
  }
}
