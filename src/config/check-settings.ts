import { z } from 'zod';
import { parseMaintenanceRules } from '../engine/admin/maintenance-rules.ts';
import { checkAgents } from '../engine/agents/check-agents.ts';
import { closestName } from '../engine/closest-name.ts';
import { checkSessionOptions } from '../engine/session-options.ts';
import { RepriseError } from '../errors.ts';
import { parseAgentId } from '../keys/ids.ts';
import { isObject } from '../transcript/json.ts';
import { allowedAt, namesAt, typesAt } from './allowed.ts';
import { shownValue } from './mask.ts';
import type { Place } from './parse-json.ts';
import { type Config, settingsSchema } from './schema.ts';
import { settingAt } from './settings.ts';

/** Who said it, as messages call it: a file, a variable or a flag. */
export interface Said {
  readonly by: string;
  readonly placeOf?: (path: string) => Place | undefined;
}

/** A whole file: CONFIG_INVALID for what it must not say, else its settings by path. */
export function checkTree(tree: unknown, said: Said): Map<string, unknown> {
  if (!isObject(tree))
    throw new RepriseError('CONFIG_INVALID', `${said.by} is not an object of settings`, {
      details: { file: said.by, next: 'It begins with { and ends with }.' },
    });
  const { error } = settingsSchema.safeParse(tree);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) throw faultOf(issue, tree, said);
  const { agents } = tree;
  for (const agentId of isObject(agents) ? Object.keys(agents) : [])
    attributed(
      `agents.${agentId}`,
      () => said.by,
      () => void parseAgentId(agentId),
    );
  const found = new Map<string, unknown>();
  gather(tree, [], found);
  return found;
}

/** Down to where the table of settings has a row: what is below one is one value. */
function gather(value: unknown, path: readonly string[], into: Map<string, unknown>): void {
  const name = path.join('.');
  if (settingAt(name) !== undefined) into.set(name, value);
  else if (isObject(value) && path[0] === 'agents' && path.length === 2 && Object.keys(value).length === 0)
    // An agent about which nothing is said is there all the same.
    into.set(name, value);
  else if (isObject(value))
    for (const [key, each] of Object.entries(value)) gather(each, [...path, key], into);
}

/** One setting from the environment or the command line, where everything is text. */
export function checkText(path: string, text: string, said: Said): unknown {
  const steps = path.split('.');
  const value = read(text, typesAt(steps));
  let tree: unknown = value;
  for (const step of steps.toReversed()) tree = { [step]: tree };
  const { error } = settingsSchema.safeParse(tree);
  if (error === undefined) return value;
  throw new RepriseError(
    'CONFIG_INVALID',
    `${said.by} cannot be ${shownValue(path, text)}: it is ${allowedAt(steps)}`,
    { details: { field: path, from: said.by, next: `Set ${said.by} to ${allowedAt(steps)}.` } },
  );
}

/** What cannot be read stays text, and is refused as such. */
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
      // Not JSON: refused as the text it is.
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
  const allowed = allowedAt(path);
  const where = placeWords(said, field);
  const what = value === undefined ? 'is missing' : `cannot be ${shownValue(field, value)}`;
  return new RepriseError('CONFIG_INVALID', `${field} ${what} in ${where}: it is ${allowed}`, {
    details: { field, file: said.by, allowed, next: `Correct "${field}" in ${said.by}.` },
  });
}

function unknownName(path: readonly PropertyKey[], name: string, said: Said): RepriseError {
  const known = namesAt(path);
  const prefix = path.map((step) => `${String(step)}.`).join('');
  const meant = closestName(name, known);
  const inside = path.length === 0 ? 'Settings' : `Settings in "${path.join('.')}"`;
  const next =
    meant === undefined ? `${inside} are: ${known.join(', ')}.` : `Did you mean "${prefix}${meant}"?`;
  const field = `${prefix}${name}`;
  return new RepriseError('CONFIG_INVALID', `there is no setting "${field}", in ${placeWords(said, field)}`, {
    details: { field, file: said.by, next },
  });
}

function placeWords({ by, placeOf }: Said, path: string): string {
  const place = placeOf?.(path) ?? placeOf?.(path.slice(0, Math.max(0, path.lastIndexOf('.'))));
  return place === undefined ? by : `${by} line ${place.line}`;
}

function valueAt(tree: unknown, path: readonly string[]): unknown {
  let value = tree;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** What only holds for settings together; the engine would refuse it later, without a word on where it stands. */
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

function attributed(prefix: string, originOf: (path: string) => string, check: () => void): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const { field } = error.details;
    const path = [prefix, field].filter((each) => typeof each === 'string' && each !== '').join('.');
    throw new RepriseError('CONFIG_INVALID', `${error.message} In ${originOf(path)}.`, {
      details: { ...error.details, field: path, next: `Correct "${path}" in ${originOf(path)}.` },
      cause: error,
    });
  }
}
