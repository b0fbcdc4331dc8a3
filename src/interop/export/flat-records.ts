import type { AnthropicBlock, AnthropicMessage } from '../../transcript/render/render-anthropic.ts';
import type { TimedMessage } from './seed-messages.ts';

export interface FlatForm {
  /** The field a tool's text stands in. */
  readonly toolText: 'content' | 'output';
  readonly time: (iso: string) => string | number;
  /** Whether an answer of text alone is written as a string. */
  readonly plainAnswers: boolean;
}

type FlatRecord = Readonly<Record<string, unknown>>;

/**
 * The records of claw0 and its classic form: one for each message, call and result. A summary is the pair of messages
 * claw0 keeps in memory after it has compacted; there is no record for one.
 */
export function flatRecords(messages: readonly TimedMessage[], form: FlatForm): readonly FlatRecord[] {
  return messages.flatMap(({ message, at }) => {
    const ts = form.time(at);
    return (message.role === 'user' ? userRecords(message, form) : answerRecords(message, form)).map(
      (record) => ({ ...record, ts }),
    );
  });
}

function userRecords({ content }: AnthropicMessage, { toolText }: FlatForm): FlatRecord[] {
  if (typeof content === 'string') return [{ type: 'user', content }];
  const records: FlatRecord[] = [];
  const rest: AnthropicBlock[] = [];
  for (const block of content) {
    if (block.type !== 'tool_result') rest.push(block);
    else {
      const { tool_use_id, content: text, is_error } = block;
      records.push({
        type: 'tool_result',
        tool_use_id,
        [toolText]: text,
        ...(is_error === true && { is_error }),
      });
    }
  }
  if (rest.length > 0) records.push({ type: 'user', content: onlyText(rest) ?? rest });
  return records;
}

function answerRecords({ content }: AnthropicMessage, { plainAnswers }: FlatForm): FlatRecord[] {
  const blocks: readonly AnthropicBlock[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const firstCall = blocks.findIndex(({ type }) => type === 'tool_use');
  const calls = firstCall === -1 ? [] : blocks.slice(firstCall);
  // Text behind a call has its place only inside the answer itself.
  if (calls.some(({ type }) => type !== 'tool_use')) return [{ type: 'assistant', content: blocks }];
  const said = firstCall === -1 ? blocks : blocks.slice(0, firstCall);
  const records: FlatRecord[] = [];
  if (said.length > 0)
    records.push({ type: 'assistant', content: (plainAnswers ? onlyText(said) : undefined) ?? said });
  for (const call of calls)
    if (call.type === 'tool_use')
      records.push({ type: 'tool_use', tool_use_id: call.id, name: call.name, input: call.input });
  return records;
}

function onlyText(blocks: readonly AnthropicBlock[]): string | undefined {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === 'text' ? only.text : undefined;
}
