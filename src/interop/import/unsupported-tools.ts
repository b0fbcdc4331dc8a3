import { RepriseError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/** Files that are recognized and not imported yet: an error that names the tool beats "not a session file". */
const DESCRIPTIONS = {
  'claude-code': 'a Claude Code session',
  codex: 'a Codex session',
  'gemini-cli': 'a Gemini CLI session',
  opencode: 'an opencode session',
  openclaw: 'an OpenClaw database',
  langchain: 'a LangChain chat history',
  chatgpt: 'an export of ChatGPT',
  'claude.ai': 'an export of claude.ai',
} as const;

type Tool = keyof typeof DESCRIPTIONS;

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
function toolOfLine(record: JsonObject): Tool | undefined {
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
export function toolOfDocument(value: unknown): Tool | undefined {
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
export function toolOfTables(names: ReadonlySet<string>): Tool | undefined {
  if (['session', 'message', 'part', 'project'].every((name) => names.has(name))) return 'opencode';
  return names.has('transcript_events') ? 'openclaw' : undefined;
}

/** Looks at the lines a file begins with; one that was cut at the end of `start` is left out. */
export function toolOfLines(start: string): Tool | undefined {
  for (const line of start.split('\n')) {
    const tool = toolOfText(line);
    if (tool !== undefined) return tool;
  }
  return undefined;
}

function toolOfText(line: string): Tool | undefined {
  try {
    const record: unknown = JSON.parse(line);
    return isObject(record) ? toolOfLine(record) : undefined;
  } catch {
    return undefined; // No JSON, or the cut end: the reader of transcripts reports it.
  }
}

export function notSupportedYet(path: string, tool: Tool): RepriseError {
  return new RepriseError(
    'INVALID_INPUT',
    `${path}: this is ${DESCRIPTIONS[tool]}; importing it is not supported yet`,
    { details: { tool, next: 'Nothing was imported from it. "reprise import --help" lists what can be.' } },
  );
}
