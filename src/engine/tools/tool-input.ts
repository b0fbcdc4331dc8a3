import type { OutputUnit, Schema, SchemaDraft, Validator } from '@cfworker/json-schema';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { ParsedInput } from './tool.ts';

/** The part of the Standard Schema specification that is needed here: zod, Valibot, ArkType and others implement it. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** The Standard JSON Schema extension, if the library has it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-07' }) => JsonObject };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

const MAX_ISSUES = 10;
const MAX_ISSUE_CHARS = 300;

export function isStandardSchema(value: unknown): value is StandardSchema {
  // ArkType's schemas are functions.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = (value as Partial<StandardSchema>)['~standard'];
  return isObject(standard) && typeof standard['validate'] === 'function';
}

/** @returns undefined if the library cannot describe its schemas as JSON Schema. */
export function jsonSchemaOf({ '~standard': standard }: StandardSchema): JsonObject | undefined {
  return standard.jsonSchema?.input({ target: 'draft-07' });
}

export async function parseStandard(schema: StandardSchema, input: JsonObject): Promise<ParsedInput> {
  const result = await schema['~standard'].validate(input);
  if (result.issues === undefined) return { value: result.value };
  return { issues: shorten(result.issues.map(({ path = [], message }) => issue(path.map(keyOf), message))) };
}

function keyOf(segment: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof segment === 'object' ? segment.key : segment);
}

/**
 * Checks an input against JSON Schema. A schema that the validator cannot use checks nothing: tools of other programs
 * bring such schemas, and their provider has accepted them.
 */
export async function parseJsonSchema(schema: JsonObject, input: JsonObject): Promise<ParsedInput> {
  const validator = await validatorFor(schema);
  // The stored call is the same object: a tool may change what it receives.
  const value = structuredClone(input);
  try {
    const { valid, errors = [] } = validator?.validate(input) ?? { valid: true };
    return valid ? { value } : { issues: shorten(leaves(errors).map(readUnit)) };
  } catch {
    return { value }; // a reference that leads nowhere, or a pattern that is no regular expression
  }
}

const validators = new WeakMap<JsonObject, Validator>();

async function validatorFor(schema: JsonObject): Promise<Validator | undefined> {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const { Validator } = await import('@cfworker/json-schema');
  try {
    const validator = new Validator(schema as Schema, draftOf(schema), false);
    validators.set(schema, validator);
    return validator;
  } catch {
    return undefined;
  }
}

function draftOf({ $schema }: JsonObject): SchemaDraft {
  const draft = typeof $schema === 'string' ? $schema : '';
  if (draft.includes('draft-04')) return '4';
  if (draft.includes('draft-07') || draft.includes('draft-06')) return '7';
  return draft.includes('2019-09') ? '2019-09' : '2020-12';
}

/** The validator reports each problem once more for every schema around it; the innermost one names it. */
function leaves(errors: readonly OutputUnit[]): OutputUnit[] {
  return errors.filter(
    ({ keywordLocation, instanceLocation }, at) =>
      !errors.some(
        (other, i) =>
          i > at &&
          (other.keywordLocation.startsWith(`${keywordLocation}/`) ||
            (other.keyword === 'false' && parentOf(other.instanceLocation) === instanceLocation)),
      ),
  );
}

function parentOf(location: string): string {
  return location.slice(0, location.lastIndexOf('/'));
}

function readUnit({ instanceLocation, keyword, error }: OutputUnit): string {
  const path = instanceLocation.split('/').slice(1).map(pointerName);
  return issue(path, keyword === 'false' ? 'there is no such property' : error.replace(/\.$/, ''));
}

function pointerName(segment: string): string {
  return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
}

function issue(path: readonly string[], message: string): string {
  const text = path.length === 0 ? message : `${path.join('.')}: ${message}`;
  return text.slice(0, MAX_ISSUE_CHARS);
}

function shorten(issues: readonly string[]): string[] {
  const more = issues.length - MAX_ISSUES;
  return more > 0 ? [...issues.slice(0, MAX_ISSUES), `and ${more} more`] : [...issues];
}
