import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { MessageParams } from '../messages/params.ts';
import { DEFAULT_RECORD_LIMITS, type RecordLimits } from './limits.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface JsonShape {
  readonly tooDeep: boolean;
  /** Whether a number differs from its text: beyond the range or the exact integers of a double. */
  readonly inexact: boolean;
}

/** Nearly every record is shallower than this, and this many frames cannot overflow the stack. */
const SHALLOW = 32;
const INEXACT = 1;
const DEEPER = 2;

/** Inspects a parsed value without recursing on its depth, so that no input can overflow the stack. */
export function inspectJson(root: JsonObject, maxDepth: number): JsonShape {
  const flags = inspectShallow(root, Math.min(SHALLOW, maxDepth));
  if ((flags & DEEPER) === 0) return { tooDeep: false, inexact: flags === INEXACT };
  return inspectDeep(root, maxDepth);
}

/** The same result without allocations, because it runs for every line that is read. */
function inspectShallow(node: object, depthLeft: number): number {
  if (depthLeft === 0) return DEEPER;
  let flags = 0;
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) flags |= inspectValue(node[i], depthLeft);
  } else {
    for (const key in node) flags |= inspectValue((node as JsonObject)[key], depthLeft);
  }
  return flags;
}

function inspectValue(value: unknown, depthLeft: number): number {
  if (typeof value === 'object') return value === null ? 0 : inspectShallow(value, depthLeft - 1);
  return typeof value === 'number' && isInexact(value) ? INEXACT : 0;
}

function inspectDeep(root: JsonObject, maxDepth: number): JsonShape {
  let inexact = false;
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return { tooDeep: true, inexact };
    const next: object[] = [];
    for (const node of level) {
      if (Array.isArray(node)) {
        for (const value of node) {
          if (typeof value === 'object' && value !== null) next.push(value);
          else if (typeof value === 'number') inexact ||= isInexact(value);
        }
      } else {
        for (const key in node) {
          const value = (node as JsonObject)[key];
          if (typeof value === 'object' && value !== null) next.push(value);
          else if (typeof value === 'number') inexact ||= isInexact(value);
        }
      }
    }
    level = next;
  }
  return { tooDeep: false, inexact };
}

function isInexact(value: number): boolean {
  return !Number.isSafeInteger(value) && (!Number.isFinite(value) || Number.isInteger(value));
}

/**
 * Refuses values that JSON would silently change or drop: the line must contain what the caller passed (P1).
 * Undefined properties are absent, as everywhere in JavaScript. A cycle counts as excessive depth.
 */
export function assertStorable(root: unknown, limits: RecordLimits = DEFAULT_RECORD_LIMITS): void {
  const values: unknown[] = [root];
  const depths: number[] = [0];
  // A value takes at least two bytes with its comma, and a text at least its length. So a value that is too long,
  // also through shared references, is refused before it is serialized.
  let budget = limits.maxRecordBytes;
  while (values.length > 0) {
    const value = values.pop();
    const depth = depths.pop() ?? 0;
    budget -= typeof value === 'string' ? 2 + bytesOf(value, budget) : 2;
    if (budget < 0) throw tooLarge('record', limits.maxRecordBytes);
    if (depth > limits.maxDepth) throw tooLarge('depth', limits.maxDepth);
    if (typeof value === 'object' && value !== null) {
      const known = values.length;
      if (Array.isArray(value)) pushItems(value, values);
      else pushProperties(value, values);
      for (let i = known; i < values.length; i++) depths.push(depth + 1);
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) throw notStorable('number', String(value));
    } else if (value !== null && typeof value !== 'string' && typeof value !== 'boolean') {
      throw notStorable('type', typeof value);
    }
  }
}

/** A lower limit, and exact where it could matter. */
function bytesOf(text: string, budget: number): number {
  return text.length <= budget && text.length * 3 > budget ? Buffer.byteLength(text) : text.length;
}

function pushItems(value: readonly unknown[], into: unknown[]): void {
  if (value.includes(undefined)) throw notStorable('undefinedItem');
  for (const item of value) into.push(item);
}

function pushProperties(value: object, into: unknown[]): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw notStorable('instance', value.constructor?.name);
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') throw notStorable('toJson');
  for (const item of Object.values(value)) {
    if (item !== undefined) into.push(item);
  }
}

function notStorable(kind: MessageParams['record.notJson']['kind'], name = ''): RepriseError {
  return failure('INVALID_INPUT', 'record.notJson', { kind, name });
}

export function tooLarge(limit: 'depth' | 'record', max: number): RepriseError {
  const options = { details: { limit, max } };
  return limit === 'depth'
    ? failure('LIMIT_EXCEEDED', 'record.tooDeep', { max }, options)
    : failure('LIMIT_EXCEEDED', 'record.tooLarge', { maxBytes: max }, options);
}
