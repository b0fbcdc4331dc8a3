import { createHash } from 'node:crypto';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { ProjectedMessage } from '../../transcript/render/conversation.ts';
import type { ModelTool, ToolCallEvent } from '../model.ts';

export interface OfflineReply {
  readonly text: string;
  readonly calls: readonly Omit<ToolCallEvent, 'type' | 'block'>[];
}

type Call = OfflineReply['calls'][number];

interface Wish {
  readonly tool: string;
  readonly input: JsonObject;
  readonly rawArguments?: string;
}

const PATH = String.raw`["'\`]?([\w~./-]+)["'\`]?`;
const CALL = /\bcall (?:the tool )?["'`]?([\w.-]+)["'`]?(\s+with\s+\{)?/gi;
const READ = new RegExp(String.raw`\b(?:read|open|show(?: me)?|print)\s+(?:the\s+)?(file\s+)?${PATH}`, 'i');
const LIST = new RegExp(
  String.raw`\blist\s+(?:the\s+|all\s+)*(?:files|directory|folder)(?:\s+(?:in|of|under)\s+(?:the\s+)?(?:directory\s+|folder\s+)?${PATH})?`,
  'i',
);
const WRITE = new RegExp(
  String.raw`\bwrite\s+(["'\`])(.*?)\1\s+(?:to|into)\s+(?:the\s+)?(?:file\s+)?${PATH}`,
  'is',
);

const PATH_KEYS = ['path', 'file_path', 'filePath', 'file', 'filename', 'directory', 'dir'];
/** A request in plain words is short; a long text is not searched. */
const MAX_WISH = 20_000;
const MAX_CALLS = 16;
const CONTENT_KEYS = ['content', 'text', 'contents', 'data'];

/**
 * Calls for a request in plain words, a refusal if the tool is missing. @returns `undefined` if no tool was
 * requested.
 */
export function toolAsks(
  ask: string,
  tools: readonly ModelTool[],
  messages: readonly ProjectedMessage[],
): OfflineReply | undefined {
  const wishes = namedCalls(ask, tools) ?? (ask.length <= MAX_WISH ? fileWish(ask, tools) : undefined);
  if (wishes === undefined) return undefined;
  const missing = wishes.find(({ tool }) => !tools.some(({ name }) => name === tool));
  if (missing !== undefined)
    return { text: `I was not offered a tool called ${missing.tool}, so I cannot do that.`, calls: [] };
  const ids = callIds(messages);
  const calls = wishes.map(
    ({ tool: name, ...rest }, i): Call => ({ id: `offline_${ids}_${i}`, name, ...rest }),
  );
  return { text: `Calling ${calls.map(({ name }) => name).join(' and ')}.`, calls };
}

/** `call <tool> with {json}`, any number of times. Without JSON, the name must be that of an offered tool. */
function namedCalls(ask: string, tools: readonly ModelTool[]): Wish[] | undefined {
  const wishes: Wish[] = [];
  for (const match of ask.matchAll(CALL)) {
    if (wishes.length === MAX_CALLS) break;
    const [whole, tool = '', json] = match;
    if (json === undefined) {
      if (tools.some(({ name }) => name === tool)) wishes.push({ tool, input: {} });
      continue;
    }
    const text = objectText(ask.slice(match.index + whole.length - 1));
    const input = parseObject(text);
    wishes.push(input === undefined ? { tool, input: {}, rawArguments: text } : { tool, input });
  }
  return wishes.length > 0 ? wishes : undefined;
}

function fileWish(ask: string, tools: readonly ModelTool[]): Wish[] | undefined {
  const write = WRITE.exec(ask);
  if (write !== null) {
    const tool = pick(tools, ['write_file', 'write']);
    const content = property(tools, tool, CONTENT_KEYS);
    return [
      { tool, input: { [property(tools, tool, PATH_KEYS)]: write[3] ?? '', [content]: write[2] ?? '' } },
    ];
  }
  const list = LIST.exec(ask);
  if (list !== null) {
    const tool = pick(tools, ['list_directory', 'list_files', 'ls']);
    return [{ tool, input: { [property(tools, tool, PATH_KEYS)]: list[1] ?? '.' } }];
  }
  const read = READ.exec(ask);
  const path = read?.[2]?.replace(/\.$/, '') ?? '';
  // Without the word "file", the argument must look like a file name: "read this aloud" is not a tool request.
  if (path === '' || (read?.[1] === undefined && !/[./]/.test(path))) return undefined;
  const tool = pick(tools, ['read_file', 'read']);
  return [{ tool, input: { [property(tools, tool, PATH_KEYS)]: path } }];
}

function pick(tools: readonly ModelTool[], names: readonly [string, ...string[]]): string {
  return names.find((name) => tools.some((tool) => tool.name === name)) ?? names[0];
}

/** The tool's own name for an argument. */
function property(tools: readonly ModelTool[], tool: string, names: readonly string[]): string {
  const { properties } = tools.find(({ name }) => name === tool)?.inputSchema ?? {};
  const own = isObject(properties) ? Object.keys(properties) : [];
  return names.find((name) => own.includes(name)) ?? own[0] ?? names[0] ?? 'path';
}

/** From the opening brace to its closing one, or to the end of the text. */
function objectText(text: string): string {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (quoted) {
      if (character === '\\') i++;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return text.slice(0, i + 1);
  }
  return text;
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Expected: a request to call with text that is not JSON is carried out as it is.
    return undefined;
  }
}

/** The same request gives the same ids, and no two requests of a conversation share one. */
function callIds(messages: readonly ProjectedMessage[]): string {
  return createHash('sha256').update(JSON.stringify(messages)).digest('hex').slice(0, 16);
}
