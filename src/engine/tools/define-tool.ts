import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { ToolRule } from '../../messages/params/params-tools.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { Tool, ToolContext, ToolOutput } from './tool.ts';
import { isStandardSchema, jsonSchemaOf, parseStandard, type StandardSchema } from './tool-input.ts';

/** The type of `input` in `run`: what a Standard Schema returns; with plain JSON Schema, an object. */
export type ToolInput<Schema> = Schema extends StandardSchema<infer Output> ? Output : JsonObject;

export interface ToolOptions<Schema extends StandardSchema | JsonObject>
  extends Pick<Tool, 'name' | 'description' | 'safe' | 'timeoutMs' | 'maxOutputChars'> {
  /** zod, Valibot, ArkType or any other Standard Schema, or JSON Schema; the top level is an object. */
  readonly input: Schema;
  /** What the model reads, for schema libraries that cannot describe themselves as JSON Schema. */
  readonly inputSchema?: JsonObject;
  run(input: ToolInput<Schema>, context: ToolContext): Promise<ToolOutput> | ToolOutput;
}

/**
 * Defines a tool. The input is checked before `run`; a model that breaks the schema reads what is wrong and can
 * correct itself.
 *
 * @example
 * ```ts
 * import { tool } from 'reprise';
 * import { z } from 'zod';
 *
 * export const weather = tool({
 *   name: 'weather',
 *   description: 'Current weather of a city',
 *   input: z.object({ city: z.string() }),
 *   run: ({ city }) => ({ city, degrees: 21 }),
 * });
 * ```
 */
export function tool<const Schema extends StandardSchema | JsonObject>(options: ToolOptions<Schema>): Tool {
  const { input, inputSchema, run, ...rest } = options;
  if (typeof run !== 'function') throw toolFault('run', { field: 'run', tool: rest.name, value: run });
  const isStandard = isStandardSchema(input);
  const schema = inputSchema ?? (isStandard ? jsonSchemaOf(input) : input);
  if (schema === undefined)
    throw failure('CONFIG_INVALID', 'tool.noJsonSchema', {
      tool: String(rest.name),
      vendor: isStandard ? input['~standard'].vendor : '',
    });
  const defined: Tool = {
    ...rest,
    inputSchema: schema,
    ...(isStandard && { parse: (given: JsonObject) => parseStandard(input, given) }),
    run: (given, context) => run(given as ToolInput<Schema>, context),
  };
  checkTool(defined, '');
  return defined;
}

/** The function names that every provider accepts. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** @param prefix Where the tool stands, such as `tools.0.`; empty for a tool by itself. */
export function checkTool(tool: JsonObject | Tool, prefix: string): void {
  const { name, description, inputSchema, run } = tool;
  if (typeof name !== 'string' || !TOOL_NAME.test(name))
    throw toolFault('nameForm', { field: `${prefix}name`, value: name });
  const part = (field: string, value: unknown) => ({ field: `${prefix}${field}`, tool: name, value });
  if (typeof run !== 'function') throw toolFault('run', part('run', run));
  if (typeof description !== 'string') throw toolFault('description', part('description', description));
  // Providers refuse requests in which the input of a tool is anything else.
  if (!isObject(inputSchema) || inputSchema['type'] !== 'object')
    throw toolFault('inputSchema', part('inputSchema', inputSchema));
}

export function toolFault(
  rule: ToolRule,
  {
    field,
    tool = null,
    value,
  }: { readonly field: string; readonly tool?: string | null; readonly value: unknown },
): RepriseError {
  const shown = value === undefined ? null : quotedValue(value);
  return failure(
    'CONFIG_INVALID',
    'tool.definition',
    { field, tool, value: shown, rule },
    { details: { field } },
  );
}
