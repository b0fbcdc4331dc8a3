import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { OtherTool } from '../../messages/params/params-interop.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

const CODEX_TYPES: ReadonlySet<unknown> = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'turn_context',
  'compacted',
]);
const CLAUDE_TYPES: ReadonlySet<unknown> = new Set([
  'file-history-snapshot',
  'queue-operation',
  'last-prompt',
  'permission-mode',
]);

/** The tool that writes such lines; undefined for all that can be imported or is unknown. */
function toolOfLine(record: JsonObject): OtherTool | undefined {
  const { type, uuid, parentUuid, leafUuid } = record;
  if (typeof uuid === 'string' && parentUuid !== undefined) return 'claude-code';
  if (CLAUDE_TYPES.has(type) || (type === 'summary' && typeof leafUuid === 'string')) return 'claude-code';
  if (CODEX_TYPES.has(type) && isObject(record['payload'])) return 'codex';
  if (isObject(record['$set']) || typeof record['$rewindTo'] === 'string') return 'gemini-cli';
  return isGeminiHeader(record) ? 'gemini-cli' : undefined;
}

function isGeminiHeader({ sessionId, projectHash, startTime }: JsonObject): boolean {
  return [sessionId, projectHash, startTime].every((each) => typeof each === 'string');
}

/** The tool that writes such a JSON document. */
export function toolOfDocument(value: unknown): OtherTool | undefined {
  if (Array.isArray(value)) {
    const first: unknown = value[0];
    if (!isObject(first)) return undefined;
    if (isObject(first['mapping'])) return 'chatgpt';
    if (Array.isArray(first['chat_messages'])) return 'claude.ai';
    return typeof first['type'] === 'string' && isObject(first['data']) ? 'langchain' : undefined;
  }
  if (!isObject(value)) return undefined;
  if (isGeminiHeader(value)) return 'gemini-cli';
  const { info } = value;
  return isObject(info) && /^ses_/.test(String(info['id'])) ? 'opencode' : undefined;
}

/** The tool that has such tables. */
export function toolOfTables(names: ReadonlySet<string>): OtherTool | undefined {
  if (['session', 'message', 'part', 'project'].every((name) => names.has(name))) return 'opencode';
  return names.has('transcript_events') ? 'openclaw' : undefined;
}

/** Looks at the lines a file begins with; one that was cut at the end of `start` is left out. */
export function toolOfLines(start: string): OtherTool | undefined {
  for (const line of start.split('\n')) {
    const tool = toolOfText(line);
    if (tool !== undefined) return tool;
  }
  return undefined;
}

function toolOfText(line: string): OtherTool | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return isObject(record) ? toolOfLine(record) : undefined;
  } catch {
    return undefined; // No JSON, or the cut end: the reader of transcripts reports it.
  }
}

/** An error that names the tool helps more than "not a transcript". */
export function notSupportedYet(path: string, tool: OtherTool): RepriseError {
  return failure('INVALID_INPUT', 'import.otherTool', { path, tool }, { details: { tool } });
}
