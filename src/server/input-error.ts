import type { core, ZodError } from 'zod';
import type { ErrorCode, RepriseError } from '../errors.ts';
import { causeText } from '../messages/english.ts';
import { failureOf } from '../messages/failure.ts';
import type { Message } from '../messages/message.ts';
import type { FieldRule } from '../messages/params/params-requests.ts';

const MAX_ISSUES = 10;
const MAX_SHOWN_FIELD = 200;
const ID_FIELDS: ReadonlySet<string> = new Set(['agentId', 'sessionId']);

/** All rules of a schema that an input broke, as one error. Ids have their own error code. */
export function inputError({ issues }: ZodError): RepriseError {
  const found = issues.slice(0, MAX_ISSUES).map((issue) => {
    const why = whyOf(issue);
    return { field: issue.path.map(String).join('.').slice(0, MAX_SHOWN_FIELD), why };
  });
  const [first] = found;
  const code: ErrorCode = first !== undefined && ID_FIELDS.has(first.field) ? 'INVALID_ID' : 'INVALID_INPUT';
  const why: Message = first?.why ?? { code: 'request.badField', params: { field: null, rule: 'form' } };
  const shown = found.map(({ field, why }) => ({ field, message: causeText(why) }));
  return failureOf(code, why, { details: { issues: shown } });
}

function whyOf(issue: core.$ZodIssue): Message {
  const fields = issue.code === 'custom' ? issue.params?.['exclusive'] : undefined;
  if (Array.isArray(fields)) return { code: 'request.exclusive', params: { fields } };
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const path = [...issue.path.map(String), ...unknown].join('.').slice(0, MAX_SHOWN_FIELD);
  const field = path === '' ? null : path;
  return { code: 'request.badField', params: { field, ...ruleOf(issue) } };
}

const UNITS: Readonly<Record<string, 'characters' | 'items'>> = { string: 'characters', array: 'items' };

function ruleOf(issue: core.$ZodIssue): FieldRule {
  switch (issue.code) {
    case 'invalid_type':
      return { rule: 'type', expected: issue.expected };
    case 'too_small':
      return { rule: 'atLeast', limit: Number(issue.minimum), unit: UNITS[issue.origin] ?? 'number' };
    case 'too_big':
      return { rule: 'atMost', limit: Number(issue.maximum), unit: UNITS[issue.origin] ?? 'number' };
    case 'invalid_value':
      return { rule: 'oneOf', values: issue.values.map(String) };
    case 'unrecognized_keys':
      return { rule: 'unknown' };
    case 'invalid_format':
      return { rule: issue.format === 'date' ? 'date' : 'form' };
    case 'custom':
      return {
        rule:
          issue.params?.['rule'] === 'agentId'
            ? 'agentId'
            : issue.params?.['rule'] === 'sessionId'
              ? 'sessionId'
              : 'form',
      };
    default:
      return { rule: 'form' };
  }
}
