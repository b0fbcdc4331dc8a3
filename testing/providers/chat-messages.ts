import { isBase64 } from './image-dimensions.ts';
import { isRecord, isRecordText, type JsonRecord } from './json.ts';
import type { ToolExchange, ToolRef } from './tool-exchange.ts';
import type { Report } from './violation.ts';

export interface ChatCall extends ToolRef {
  readonly name: string;
}

/** One message in the chat completions format, as far as the rules between messages need it. */
export interface ChatTurn {
  readonly at: string;
  /** Undefined if the message has no role. That is reported, and the rules about roles skip the message. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool' | undefined;
  readonly calls: readonly ChatCall[];
  readonly result: ToolRef | undefined;
}

/** Checks every message by itself: the part of the format on which all servers agree. */
export function readChatMessages(list: readonly unknown[], report: Report): ChatTurn[] {
  return list.map((message, index) => readMessage(message, `messages[${index}]`, report));
}

/** Results count only in the unbroken run of tool messages after their calls. */
export function chatExchanges(turns: readonly ChatTurn[]): ToolExchange[] {
  const exchanges: ToolExchange[] = [];
  let calls: readonly ChatCall[] = [];
  let results: ToolRef[] = [];
  const close = (): void => {
    if (calls.length > 0 || results.length > 0) exchanges.push({ calls, results });
  };
  for (const turn of turns) {
    if (turn.role === 'tool') {
      if (turn.result) results.push(turn.result);
      continue;
    }
    close();
    calls = turn.calls;
    results = [];
  }
  close();
  return exchanges;
}

function readMessage(message: unknown, at: string, report: Report): ChatTurn {
  const fields: JsonRecord = isRecord(message) ? message : {};
  const nothing = { at, calls: [], result: undefined };
  switch (fields.role) {
    case 'system':
      judgeContent(fields.content, at, report, { images: false });
      return { ...nothing, role: 'system' };
    case 'user':
      judgeContent(fields.content, at, report, { images: true });
      return { ...nothing, role: 'user' };
    case 'assistant':
      return { ...nothing, role: 'assistant', calls: readAssistant(fields, at, report) };
    case 'tool': {
      judgeText(fields.content, at, report);
      const id = fields.tool_call_id;
      if (typeof id !== 'string') report('shape', at, 'tool_call_id is not a string');
      return { at, role: 'tool', calls: [], result: typeof id === 'string' ? { id, at } : undefined };
    }
    default:
      report('shape', at, 'a message needs the role system, user, assistant or tool');
      return { ...nothing, role: undefined };
  }
}

function judgeContent(content: unknown, at: string, report: Report, { images }: { images: boolean }): void {
  if (!Array.isArray(content)) {
    judgeText(content, at, report);
    return;
  }
  if (content.length === 0) report('empty-content', at, 'content is an empty list');
  for (const [index, part] of content.entries()) {
    const where = `${at}.content[${index}]`;
    if (isRecord(part) && part.type === 'text') judgeText(part.text, where, report);
    else if (images && isRecord(part) && part.type === 'image_url') judgeImage(part.image_url, where, report);
    else report('shape', where, images ? 'not a text or image_url part' : 'not a text part');
  }
}

function judgeText(text: unknown, at: string, report: Report): void {
  if (typeof text !== 'string') report('shape', at, 'the text is not a string');
  else if (text === '') report('empty-text', at, 'the text is empty');
}

function judgeImage(image: unknown, at: string, report: Report): void {
  const url = isRecord(image) ? image.url : undefined;
  if (typeof url !== 'string') {
    report('shape', at, 'image_url needs a url');
    return;
  }
  if (/^https?:\/\//.test(url)) return;
  const prefix = /^data:image\/[a-z0-9.+-]{1,64};base64,/.exec(url)?.[0];
  if (prefix === undefined || !isBase64(url.slice(prefix.length))) {
    report('image-url', at, 'the url is not data:image/…;base64,… with valid base64');
  }
}

function readAssistant({ content, tool_calls: list }: JsonRecord, at: string, report: Report): ChatCall[] {
  const silent = content === null || content === undefined;
  if (!silent) judgeText(content, at, report);
  if (list === undefined) {
    if (silent) report('empty-content', at, 'an assistant message needs content or tool_calls');
    return [];
  }
  if (!Array.isArray(list)) {
    report('shape', at, 'tool_calls is not a list');
    return [];
  }
  if (list.length === 0) report('empty-tool-calls', at, 'tool_calls: [] is too short, leave it out');
  return list.flatMap((call, index) => readCall(call, `${at}.tool_calls[${index}]`, report));
}

function readCall(call: unknown, at: string, report: Report): ChatCall[] {
  const fields: JsonRecord = isRecord(call) && isRecord(call.function) ? call.function : {};
  const { name, arguments: text } = fields;
  if (
    !isRecord(call) ||
    call.type !== 'function' ||
    typeof call.id !== 'string' ||
    typeof name !== 'string'
  ) {
    report('shape', at, 'a tool call needs {id, type: "function", function: {name, arguments}}');
    return [];
  }
  if (typeof text !== 'string' || !isRecordText(text)) {
    report('tool-arguments', at, 'function.arguments is not the text of a JSON object');
  }
  return [{ id: call.id, at, name }];
}
