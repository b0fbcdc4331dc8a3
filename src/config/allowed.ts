import { z } from 'zod';
import type { Expected } from '../messages/params/params-settings.ts';
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

/** The allowed values of a path. */
export function expectedAt(path: readonly PropertyKey[]): Expected[] {
  return expectedOf(typesAt(path));
}

function expectedOf(types: readonly Type[]): Expected[] {
  // Alternatives that differ in one fixed word read as a list of words.
  const literals = types.flatMap((type) => (type instanceof z.ZodLiteral ? [...type.values] : []));
  const others = types.filter((type) => !(type instanceof z.ZodLiteral)).map(describe);
  const values = literals.map((value) => JSON.stringify(value));
  return values.length === 0 ? others : [...others, { is: 'oneOf', values }];
}

function describe(type: Type): Expected {
  if (type instanceof z.ZodEnum) return { is: 'oneOf', values: type.options.map(String) };
  if (type instanceof z.ZodBoolean) return { is: 'boolean' };
  if (type instanceof z.ZodNumber) return describeNumber(type);
  if (type instanceof z.ZodURL) return { is: 'url' };
  if (type instanceof z.ZodString) return { is: type.format === 'regex' ? 'duration' : 'text' };
  if (type instanceof z.ZodArray) return { is: 'list', of: expectedOf(open(type.element as Type)) };
  if (type instanceof z.ZodObject) return { is: 'object', names: Object.keys(type.shape) };
  if (type instanceof z.ZodRecord) return { is: 'record', of: expectedOf(open(type.valueType as Type)) };
  return { is: 'other' };
}

function describeNumber({ format, minValue, maxValue }: z.ZodNumber): Expected {
  const isOpen = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER;
  return {
    is: format === 'safeint' ? 'integer' : 'number',
    ...(minValue !== null && { min: minValue }),
    ...(!isOpen && { max: maxValue }),
  };
}
