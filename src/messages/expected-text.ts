import { count } from './english-format.ts';
import type { Expected } from './params/params-settings.ts';

/** "text", "a whole number from 0 to 65535", "one of allow, deny". */
export function expectedText(expected: readonly Expected[]): string {
  return [...new Set(expected.map(one))].join(' or ');
}

function one(expected: Expected): string {
  switch (expected.is) {
    case 'text':
      return 'text';
    case 'nonEmptyText':
      return 'non-empty text';
    case 'boolean':
      return 'true or false';
    case 'integer':
      return bounds('a whole number', expected);
    case 'number':
      return bounds('a number', expected);
    case 'url':
      return 'a URL';
    case 'duration':
      return 'a length of time such as "12h"';
    case 'model':
      return 'the name of a model';
    case 'time':
      return 'an ISO 8601 time or Unix milliseconds';
    case 'isoTime':
      return 'an ISO 8601 time such as "2026-01-31T12:00:00Z"';
    case 'utcTime':
      return 'a UTC time such as "2026-01-31T12:00:00.000Z"';
    case 'timeZone':
      return 'an IANA time zone such as "Europe/Berlin"';
    case 'word':
      return 'one word such as "/new"';
    case 'folder':
      return 'the path of a folder';
    case 'shortText':
      return `text of 1 to ${count(expected.max)} characters`;
    case 'oneOf':
      return expected.values.length === 1 ? `${expected.values[0]}` : `one of ${expected.values.join(', ')}`;
    case 'list':
      return expected.of.length === 0 ? 'a list' : `a list of ${expectedText(expected.of)}`;
    case 'object':
      return expected.names.length === 0 ? 'an object' : `an object with ${expected.names.join(', ')}`;
    case 'record':
      return `an object of names, each ${expectedText(expected.of)}`;
    case 'other':
      return 'another value';
  }
}

function bounds(kind: string, { min, max, above }: Extract<Expected, { is: 'integer' | 'number' }>): string {
  if (above !== undefined) return `${kind} above ${count(above)}`;
  if (min !== undefined && max !== undefined) return `${kind} from ${min} to ${max}`;
  if (min !== undefined) return `${kind}, at least ${min}`;
  return max === undefined ? kind : `${kind}, at most ${max}`;
}
