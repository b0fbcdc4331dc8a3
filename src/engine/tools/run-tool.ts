import { truncateToolText } from '../../context/truncate.ts';
import { RepriseError } from '../../errors.ts';
import { causeText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { type Message, message } from '../../messages/message.ts';
import { quoted } from '../../messages/quoted.ts';
import type { ImageBlock, TextBlock, ToolResultMessage } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { Tool, ToolContext } from './tool.ts';

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

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_OUTPUT_CHARS = 200_000;
const MAX_RAW_SHOWN = 500;

/**
 * Answers a call whatever the tool does: throws, hangs, returns too much, or returns a value that JSON cannot
 * represent.
 */
export async function runTool(
  call: ToolCall,
  tool: Tool | undefined,
  context: Omit<ToolContext, 'toolCallId'>,
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
  try {
    const output = await untilAborted(
      (async () => tool.run(call.input, { ...context, toolCallId: call.id, signal }))(),
      signal,
    );
    return finish(readOutput(output, maxOutputChars), false);
  } catch (error) {
    if (context.signal.aborted) return refuse(message('tool.stopped'));
    if (timeout.aborted) return refuse(message('tool.slow', { seconds: timeoutMs / 1000 }));
    const text = error instanceof Error ? error.message : String(error);
    return fail(text, error instanceof RepriseError ? error.why : undefined);
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

function readOutput(output: unknown, maxChars: number): (TextBlock | ImageBlock)[] {
  if (typeof output === 'string') return [{ type: 'text', text: cap(output, maxChars) }];
  if (isObject(output) && Array.isArray(output['content'])) {
    return output['content'].map((block: unknown) => {
      if (isObject(block) && block['type'] === 'text' && typeof block['text'] === 'string')
        return { type: 'text', text: cap(block['text'], maxChars) };
      if (isObject(block) && block['type'] === 'image' && typeof block['data'] === 'string')
        return { type: 'image', data: block['data'], mimeType: String(block['mimeType'] ?? 'image/png') };
      throw failure('INVALID_INPUT', 'tool.badOutput');
    });
  }
  const text = JSON.stringify(output);
  if (text === undefined) return [{ type: 'text', text: '(no output)' }];
  return [{ type: 'text', text: cap(text, maxChars) }];
}

function cap(text: string, maxChars: number): string {
  return text === '' ? '(no output)' : truncateToolText(text, { maxChars });
}
