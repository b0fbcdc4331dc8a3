import { isBase64 } from './image-dimensions.ts';
import { isRecord, type JsonRecord, quote } from './json.ts';
import type { ToolRef } from './tool-exchange.ts';
import type { Report } from './violation.ts';

export interface ModelToolRef extends ToolRef {
  readonly name: string;
}

export type ModelPart =
  | {
      readonly type: 'text' | 'reasoning';
      readonly at: string;
      readonly text: string;
      readonly options: JsonRecord;
    }
  | { readonly type: 'file'; readonly at: string }
  | ({ readonly type: 'tool-call'; readonly options: JsonRecord } & ModelToolRef)
  | ({ readonly type: 'tool-result'; readonly text: string } & ModelToolRef);

/** One ModelMessage of the AI SDK, as far as it could be read. */
export interface ModelTurn {
  readonly at: string;
  readonly role: 'user' | 'assistant' | 'tool';
  readonly parts: readonly ModelPart[];
  readonly calls: readonly (ModelToolRef & { readonly options: JsonRecord })[];
  readonly results: readonly ModelToolRef[];
}

const PARTS_BY_ROLE: Readonly<Record<ModelTurn['role'], ReadonlySet<unknown>>> = {
  user: new Set(['text', 'file']),
  assistant: new Set(['text', 'reasoning', 'tool-call']),
  tool: new Set(['tool-result']),
};

const MESSAGE_FIELDS = ['role', 'content'];

/** Checks the format that all providers of the SDK share. Values that are not messages or parts are left out. */
export function readModelMessages(list: readonly unknown[], report: Report): ModelTurn[] {
  return list.flatMap((message, index) => readMessage(message, `messages[${index}]`, report));
}

/** One value that a provider asked us to send back with a part: `providerOptions.<provider>.<name>`. */
export function providerOption(options: JsonRecord, provider: string, name: string): unknown {
  const values = options[provider];
  return isRecord(values) ? values[name] : undefined;
}

function readMessage(message: unknown, at: string, report: Report): ModelTurn[] {
  const fields: JsonRecord = isRecord(message) ? message : {};
  const { role, content } = fields;
  if ((role !== 'user' && role !== 'assistant' && role !== 'tool') || !Array.isArray(content)) {
    report('shape', at, 'a message needs the role user, assistant or tool and a list of parts');
    return [];
  }
  judgeFields(fields, MESSAGE_FIELDS, at, report);
  if (content.length === 0) report('empty-content', at, 'the message has no parts');
  const parts = content.flatMap((part, index) => {
    const where = `${at}.content[${index}]`;
    if (isRecord(part) && PARTS_BY_ROLE[role].has(part.type)) return readPart(part, where, report);
    report('shape', where, `not a part that a message of the role ${role} may have`);
    return [];
  });
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
  const results = parts.flatMap((part) => (part.type === 'tool-result' ? [part] : []));
  return [{ at, role, parts, calls, results }];
}

function readPart(part: JsonRecord, at: string, report: Report): ModelPart[] {
  const options = isRecord(part.providerOptions) ? part.providerOptions : {};
  switch (part.type) {
    case 'text':
    case 'reasoning':
      judgeFields(part, ['type', 'text'], at, report);
      if (typeof part.text !== 'string') break;
      return [{ type: part.type, at, text: part.text, options }];
    case 'file':
      judgeFields(part, ['type', 'data', 'mediaType', 'filename'], at, report);
      if (typeof part.data !== 'string' || !isBase64(part.data)) break;
      if (typeof part.mediaType !== 'string' || !/^[^/\s]{1,127}\/[^/\s]{1,127}$/.test(part.mediaType)) break;
      return [{ type: 'file', at }];
    case 'tool-call':
      judgeFields(part, ['type', 'toolCallId', 'toolName', 'input'], at, report);
      if (typeof part.toolCallId !== 'string' || typeof part.toolName !== 'string') break;
      if (!isRecord(part.input)) report('tool-input', at, 'input is not an object');
      return [{ type: 'tool-call', at, id: part.toolCallId, name: part.toolName, options }];
    case 'tool-result': {
      judgeFields(part, ['type', 'toolCallId', 'toolName', 'output'], at, report);
      if (typeof part.toolCallId !== 'string' || typeof part.toolName !== 'string') break;
      const { output } = part;
      if (!isRecord(output) || typeof output.value !== 'string') break;
      if (output.type !== 'text' && output.type !== 'error-text') break;
      judgeFields(output, ['type', 'value'], at, report);
      return [{ type: 'tool-result', at, id: part.toolCallId, name: part.toolName, text: output.value }];
    }
  }
  report('shape', at, `a field of this ${part.type} part is missing or of the wrong type`);
  return [];
}

/** The SDK silently drops unknown fields, so their content would never arrive. */
function judgeFields(record: JsonRecord, known: readonly string[], at: string, report: Report): void {
  for (const key of Object.keys(record)) {
    if (key === 'providerOptions') {
      const options = record.providerOptions;
      if (options !== undefined && !(isRecord(options) && Object.values(options).every(isRecord))) {
        report('shape', at, 'providerOptions is not an object of one object per provider');
      }
    } else if (!known.includes(key)) {
      report('shape', at, `unknown field ${quote(key)}`);
    }
  }
}
