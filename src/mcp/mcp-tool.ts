import type { JsonObject } from '../transcript/json.ts';

/** A tool that a client of the MCP server can call. Its result is sent as quoted history. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schemas of the arguments. */
  readonly properties: JsonObject;
  readonly required: readonly string[];
  /** Unset: it only reads. */
  readonly isWriting?: true;
  run(input: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}
