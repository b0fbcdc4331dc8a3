import { RepriseError } from '../errors.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { closestName } from './closest-name.ts';

/** Configuration is checked when an engine starts: a rule with a slip in it would otherwise never act, silently. */
export function configFault(field: string, value: unknown, next: string): RepriseError {
  return new RepriseError('CONFIG_INVALID', `${field} cannot be ${shown(value)}. ${next}`, {
    details: { field, next },
  });
}

/** An object with no other names than these. */
export function checkNames(field: string, value: unknown, names: readonly string[]): JsonObject {
  if (!isObject(value)) throw configFault(field, value, `It is an object with ${names.join(', ')}.`);
  for (const name of Object.keys(value)) {
    if (names.includes(name)) continue;
    const meant = closestName(name, names);
    const next = meant === undefined ? `Known are ${names.join(', ')}.` : `Did you mean "${meant}"?`;
    throw new RepriseError('CONFIG_INVALID', `${field} has no "${name}". ${next}`, {
      details: { field: `${field}.${name}`, next },
    });
  }
  return value;
}

export function checkOneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (typeof value === 'string' && allowed.includes(value)) return;
  throw configFault(field, value, `Use one of ${allowed.join(', ')}.`);
}

function shown(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text === undefined ? String(value) : text.slice(0, 80);
}
