import { RepriseError } from '../../errors.ts';
import { causeText } from '../../messages/english.ts';
import { type Message, message } from '../../messages/message.ts';
import { quoted } from '../../messages/quoted.ts';
import type { ImageBlock, TextBlock, ToolResultMessage } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { ParsedInput, Tool, ToolContext } from './tool.ts';
import { parseJsonSchema } from './tool-input.ts';
import { readOutput, thrownText } from './tool-output.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Set if the model's arguments were not a JSON object: such a call is answered, not run. */
  readonly rawArguments?: string;
}

export interface ToolRun {
  readonly message: ToolResultMessage;
  readonly text: string;
  /** Why the call was refused or failed; `text` is its English text. Unset where only the tool knows. */
  readonly why?: Message;
  readonly durationMs: number;
}

export interface ToolRunContext extends Omit<ToolContext, 'toolCallId' | 'progress'> {
  readonly onProgress?: (text: string) => void;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_OUTPUT_CHARS = 200_000;
const MAX_RAW_SHOWN = 500;
const PROGRESS_EVERY_MS = 100;
const MAX_PROGRESS_CHARS = 1000;

/**
 * Answers a call whatever the tool does: throws, hangs, returns too much, or returns a value that JSON cannot
 * represent.
 */
export async function runTool(
  call: ToolCall,
  tool: Tool | undefined,
  { onProgress, ...context }: ToolRunContext,
): Promise<ToolRun> {
  const start = performance.now();
  const finish = (content: readonly (TextBlock | ImageBlock)[], isError: boolean): ToolRun => ({
    message: { role: 'toolResult', toolCallId: call.id, toolName: call.name, content, isError },
    text: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
    durationMs: Math.round(performance.now() - start),
  });
  const fail = (text: string, why?: Message): ToolRun => ({
    ...finish([{ type: 'text', text }], true),
    ...(why !== undefined && { why }),
  });
  const refuse = (why: Message): ToolRun => fail(causeText(why), why);
  if (tool === undefined) return refuse(message('tool.unknown', { name: quoted(call.name) }));
  if (call.rawArguments !== undefined)
    return refuse(message('tool.badArguments', { text: call.rawArguments.slice(0, MAX_RAW_SHOWN) }));
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxOutputChars = DEFAULT_OUTPUT_CHARS } = tool;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([context.signal, timeout]);
  const progress = throttled((text) => signal.aborted || onProgress?.(text));
  try {
    const parsed = await untilAborted(parseInput(tool, call.input), signal);
    if ('issues' in parsed)
      return refuse(message('tool.badInput', { tool: call.name, issues: parsed.issues }));
    const output = await untilAborted(
      (async () =>
        tool.run(parsed.value as JsonObject, { ...context, toolCallId: call.id, signal, progress }))(),
      signal,
    );
    const { content, isError } = readOutput(output, maxOutputChars);
    return finish(content, isError);
  } catch (error) {
    if (context.signal.aborted) return refuse(message('tool.stopped'));
    if (timeout.aborted) return refuse(message('tool.slow', { seconds: timeoutMs / 1000 }));
    return fail(thrownText(error, maxOutputChars), error instanceof RepriseError ? error.why : undefined);
  }
}

/** Stops waiting for a tool that ignores its signal; the tool may continue, but its result is ignored. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined); // its failure was already reported, or is no longer needed
  }
}

async function parseInput(tool: Tool, input: JsonObject): Promise<ParsedInput> {
  return tool.parse === undefined
    ? parseJsonSchema(tool.inputSchema, input)
    : tool.parse(structuredClone(input));
}

/** Calls at most ten times a second; texts in between are left out. */
function throttled(report: (text: string) => void): (text: string) => void {
  let next = 0;
  return (text) => {
    const now = performance.now();
    if (now < next) return;
    next = now + PROGRESS_EVERY_MS;
    report(String(text).slice(0, MAX_PROGRESS_CHARS));
  };
}
