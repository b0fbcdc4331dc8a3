import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { Expected } from '../messages/params/params-settings.ts';
import { quotedValue } from '../messages/quoted.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { closestName } from './closest-name.ts';

/** Configuration is checked when an engine starts: otherwise a rule with a typo would silently have no effect. */
export function configFault(field: string, value: unknown, ...expected: readonly Expected[]): RepriseError {
  const shown = value === undefined ? null : quotedValue(value);
  return failure('CONFIG_INVALID', 'value.wrong', { field, value: shown, expected }, { details: { field } });
}

/** Checks that the value is an object without unknown names. */
export function checkNames(field: string, value: unknown, names: readonly string[]): JsonObject {
  if (!isObject(value)) throw configFault(field, value, { is: 'object', names });
  for (const name of Object.keys(value)) {
    if (names.includes(name)) continue;
    const params = { field, name, suggestion: closestName(name, names) ?? null, known: names };
    const details = { field: `${field}.${name}` };
    throw failure('CONFIG_INVALID', 'value.unknownName', params, { details });
  }
  return value;
}

export function checkOneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (typeof value === 'string' && allowed.includes(value)) return;
  throw configFault(field, value, { is: 'oneOf', values: allowed });
}
