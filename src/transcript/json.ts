import { RepriseError } from '../errors.ts';
import { DEFAULT_RECORD_LIMITS, type RecordLimits } from './limits.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface JsonShape {
  readonly tooDeep: boolean;
  /** A number that is not what the text said: beyond a double's range or its exact integers. */
  readonly inexact: boolean;
}

/** Looks at a parsed value without recursion, so that no depth of input can exhaust the stack. */
export function inspectJson(root: JsonObject, maxDepth: number): JsonShape {
  let inexact = false;
  let level: object[] = [root];
  let next: object[] = [];
  const look = (value: unknown): void => {
    if (typeof value === 'object') {
      if (value !== null) next.push(value);
    } else if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      inexact ||= !Number.isFinite(value) || Number.isInteger(value);
    }
  };
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return { tooDeep: true, inexact };
    next = [];
    for (const node of level) {
      if (Array.isArray(node)) for (const value of node) look(value);
      else for (const key in node) look((node as JsonObject)[key]);
    }
    level = next;
  }
  return { tooDeep: false, inexact };
}

/**
 * Refuses what JSON would silently change or drop: the line must say what the caller said (P1).
 * Undefined properties are absent, as everywhere in JavaScript. A cycle shows as depth.
 */
export function assertStorable(root: unknown, limits: RecordLimits = DEFAULT_RECORD_LIMITS): void {
  let budget = limits.maxRecordBytes;
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.maxDepth) throw tooLarge('depth', limits.maxDepth);
    const next: unknown[] = [];
    for (const value of level) {
      // A value takes at least one byte, so shared references cannot blow up before this stops them.
      if (--budget < 0) throw tooLarge('record', limits.maxRecordBytes);
      switch (typeof value) {
        case 'string':
        case 'boolean':
          break;
        case 'number':
          if (!Number.isFinite(value)) throw notStorable(`the number ${value}`);
          break;
        case 'object':
          if (value === null) break;
          if (Array.isArray(value)) {
            if (value.includes(undefined)) throw notStorable('undefined in an array');
            for (const item of value) next.push(item);
          } else {
            pushProperties(value, next);
          }
          break;
        default:
          throw notStorable(`a ${typeof value}`);
      }
    }
    level = next;
  }
}

function pushProperties(value: object, into: unknown[]): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw notStorable(`an instance of ${value.constructor?.name ?? 'a class'}`);
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') throw notStorable('an object with toJSON');
  for (const item of Object.values(value)) {
    if (item !== undefined) into.push(item);
  }
}

function notStorable(what: string): RepriseError {
  return new RepriseError('INVALID_INPUT', `cannot be stored as JSON without loss: ${what}`);
}

export function tooLarge(limit: 'depth' | 'record', max: number): RepriseError {
  const what = limit === 'depth' ? `nested deeper than ${max} levels` : `larger than ${max} bytes`;
  return new RepriseError('LIMIT_EXCEEDED', `the record is ${what}`, { details: { limit, max } });
}
