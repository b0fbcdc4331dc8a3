import fc from 'fast-check';
import { z } from 'zod';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { isObject } from '../../../src/transcript/json.ts';

export interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: JsonObject;
}

export interface OpenApiOperation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly OpenApiParameter[];
  readonly body: JsonObject | undefined;
  /** By status and media type: `200 application/json`. */
  readonly answers: ReadonlyMap<string, z.ZodType>;
}

interface Document extends JsonObject {
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
}

/** The operations of a document, with references resolved. */
export function operationsOf(document: JsonObject): OpenApiOperation[] {
  const { paths } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): OpenApiOperation => {
      const whole = resolved(operation, document) as JsonObject;
      const { operationId, parameters = [], requestBody, responses } = whole;
      const answers = Object.entries(responses as Record<string, JsonObject>).flatMap(([status, answer]) =>
        status === 'default'
          ? []
          : jsonSchemas(answer).map(([type, schema]) => [`${status} ${type}`, schema] as const),
      );
      return {
        id: String(operationId),
        method: method.toUpperCase(),
        path,
        parameters: parameters as OpenApiParameter[],
        body: isObject(requestBody) ? jsonSchemas(requestBody)[0]?.[1] : undefined,
        answers: new Map(answers.map(([name, schema]) => [name, z.fromJSONSchema(schema)])),
      };
    }),
  );
}

function jsonSchemas({ content }: JsonObject): [type: string, JsonObject][] {
  return Object.entries(isObject(content) ? content : {}).flatMap(([type, body]) =>
    /[/+]json$/.test(type) && isObject(body) ? [[type, body['schema'] as JsonObject] as const] : [],
  ) as [string, JsonObject][];
}

function resolved(value: unknown, document: JsonObject): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, document));
  if (!isObject(value)) return value;
  const { $ref } = value;
  if (typeof $ref === 'string') {
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), document);
    return resolved(target, document);
  }
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, document)]));
}

/** Values that mean something to the server, by the names of fields. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** Values a schema allows, as far as it says: patterns and formats are left to the server. */
export function valid(schema: JsonObject, known: Known = {}): fc.Arbitrary<unknown> {
  const {
    type,
    enum: names,
    const: only,
    minimum = 0,
    maximum = 1000,
    minLength = 0,
    maxLength = 20,
  } = schema;
  const { anyOf, properties, required = [], items } = schema;
  if (only !== undefined) return fc.constant(only);
  if (Array.isArray(names)) return fc.constantFrom(...(names as unknown[]));
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((one) => valid(one as JsonObject, known)));
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => valid({ ...schema, type: one }, known)));
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number':
      return fc.integer({ min: Number(minimum), max: Math.min(Number(maximum), 2000) });
    case 'string': {
      const min = Number(minLength);
      return fc.string({
        minLength: min,
        maxLength: Math.max(min, Math.min(Number(maxLength), 20)),
        unit: 'grapheme',
      });
    }
    case 'array':
      return fc.array(valid((items ?? {}) as JsonObject, known), { maxLength: 3 });
    case 'object': {
      const fields = Object.entries((properties ?? {}) as Record<string, JsonObject>);
      const shape = Object.fromEntries(
        fields.map(([name, field]) => {
          const any = valid(field, known);
          const meant = known[name];
          return [
            name,
            meant === undefined ? any : fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...meant) }, any),
          ];
        }),
      );
      return fc.record(shape, { requiredKeys: required as string[] });
    }
    default:
      return fc.jsonValue();
  }
}

/** Anything at all. */
export const ODD: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    '..',
    '../x',
    '-1',
    '0',
    '1e9',
    'null',
    'true',
    '__proto__',
    'constructor',
    '\u0000',
    '\ud800',
    '%',
    "' OR 1=1 --",
    '*',
    '"x"',
    'a'.repeat(2000),
  ),
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.integer().map(String),
);
