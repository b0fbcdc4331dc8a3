import { z } from 'zod';
import { settingsSchema } from './schema.ts';

type Type = z.core.$ZodType;

/** The types that a path of settings may have: several for alternatives, none for an unknown path. */
export function typesAt(path: readonly PropertyKey[]): readonly Type[] {
  let types: readonly Type[] = open(settingsSchema);
  for (const name of path) types = types.flatMap((type) => inside(type, String(name)));
  return types;
}

function inside(type: Type, name: string): readonly Type[] {
  if (type instanceof z.ZodObject) {
    const { shape } = type;
    return Object.hasOwn(shape, name) ? open(shape[name]) : [];
  }
  if (type instanceof z.ZodRecord) return open(type.valueType as Type);
  if (type instanceof z.ZodArray) return open(type.element as Type);
  return [];
}

/** Unwraps optional types and splits unions. */
function open(type: Type): readonly Type[] {
  if (type instanceof z.ZodExactOptional) return open(type.unwrap() as Type);
  if (type instanceof z.ZodUnion) return type.options.flatMap((option) => open(option as Type));
  return [type];
}

/** The names that an object at this path may have. */
export function namesAt(path: readonly PropertyKey[]): string[] {
  return typesAt(path).flatMap((type) => (type instanceof z.ZodObject ? Object.keys(type.shape) : []));
}

/** The allowed values of a path in words: `a whole number from 0 to 65535`. */
export function allowedAt(path: readonly PropertyKey[]): string {
  const types = typesAt(path);
  // Alternatives that differ in one fixed word read as a list of words.
  const literals = types.flatMap((type) => (type instanceof z.ZodLiteral ? [...type.values] : []));
  const others = types.filter((type) => !(type instanceof z.ZodLiteral)).map(describe);
  const words = literals.map((value) => JSON.stringify(value));
  const fixed = words.length > 1 ? [`one of ${words.join(', ')}`] : words;
  return [...new Set([...others, ...fixed])].join(' or ');
}

function describe(type: Type): string {
  if (type instanceof z.ZodEnum) return `one of ${type.options.join(', ')}`;
  if (type instanceof z.ZodBoolean) return 'true or false';
  if (type instanceof z.ZodNumber) return describeNumber(type);
  if (type instanceof z.ZodURL) return 'a URL';
  if (type instanceof z.ZodString) return type.format === 'regex' ? 'a length of time such as "12h"' : 'text';
  if (type instanceof z.ZodArray) return `a list of ${describeAll(open(type.element as Type))}`;
  if (type instanceof z.ZodObject) return `an object with ${Object.keys(type.shape).join(', ')}`;
  if (type instanceof z.ZodRecord)
    return `an object of names, each ${describeAll(open(type.valueType as Type))}`;
  return 'something else';
}

function describeAll(types: readonly Type[]): string {
  return [...new Set(types.map(describe))].join(' or ');
}

function describeNumber(type: z.ZodNumber): string {
  const kind = type.format === 'safeint' ? 'a whole number' : 'a number';
  const { minValue, maxValue } = type;
  const isOpen = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER;
  if (isOpen) return minValue === null ? kind : `${kind}, at least ${minValue}`;
  return `${kind} from ${minValue ?? 'any'} to ${maxValue}`;
}
