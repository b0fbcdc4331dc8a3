import { carrySummary, SUMMARY_CARRIERS } from '../../../transcript/render/carrier.ts';
import type { AnthropicBlock } from '../../../transcript/render/render-anthropic.ts';
import type { SessionDocument } from '../../session-document.ts';
import { seedHistory } from '../seed-messages.ts';
import { blocksOf } from './claude-code.ts';
import type { ClientSession } from './client-export.ts';
import { callFor } from './tool-names.ts';

/** The version whose files look like this. */
const VERSION = '0.166.0';

/** The lines of a rollout of Codex: the items that it sends to the provider, and the prompts for its list. */
export function* codexLines(
  document: SessionDocument,
  { id, cwd, now, full }: ClientSession,
): Generator<string> {
  const line = (timestamp: string, type: string, payload: object): string =>
    `${JSON.stringify({ timestamp, type, payload })}\n`;
  yield line(now.toISOString(), 'session_meta', {
    session_id: id,
    id,
    timestamp: now.toISOString(),
    cwd,
    originator: 'codex_cli_rs',
    cli_version: VERSION,
    source: 'cli',
    // Ignored by Codex; a later import of this file finds the session by it.
    reprise: { session: document.id, leaf: document.entries.at(-1)?.id ?? null },
  });
  const { summary, kept, after } = seedHistory(document.entries, full);
  // The summary is a message, because Codex combines a `compacted` record with texts of its own.
  for (const { text } of summary === undefined ? [] : carrySummary(summary.text, SUMMARY_CARRIERS.user))
    yield line(
      summary?.at ?? now.toISOString(),
      'response_item',
      message('user', [{ type: 'input_text', text }]),
    );
  for (const { message: said, at } of [...kept, ...after]) {
    const blocks = blocksOf(said);
    let content: object[] = [];
    const flush = (): string[] => {
      if (content.length === 0) return [];
      const item = line(at, 'response_item', message(said.role, content));
      content = [];
      return [item];
    };
    for (const block of blocks) {
      if (block.type === 'tool_use') {
        yield* flush();
        const { name, input } = callFor('codex', block.name, block.input);
        const called = { type: 'function_call', name, arguments: JSON.stringify(input), call_id: block.id };
        yield line(at, 'response_item', called);
      } else if (block.type === 'tool_result') {
        yield line(at, 'response_item', {
          type: 'function_call_output',
          call_id: block.tool_use_id,
          output:
            typeof block.content === 'string'
              ? block.content
              : block.content.flatMap((part) => partOf('user', part)),
        });
      } else content.push(...partOf(said.role, block));
    }
    yield* flush();
    const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n\n');
    if (text !== '')
      yield line(at, 'event_msg', {
        type: said.role === 'user' ? 'user_message' : 'agent_message',
        message: text,
      });
  }
}

function message(role: 'user' | 'assistant', content: readonly object[]): object {
  return { type: 'message', role, content };
}

function partOf(role: 'user' | 'assistant', block: AnthropicBlock): object[] {
  if (block.type === 'text')
    return [{ type: role === 'user' ? 'input_text' : 'output_text', text: block.text }];
  if (block.type !== 'image') return [];
  const { media_type, data } = block.source;
  return [{ type: 'input_image', image_url: `data:${media_type};base64,${data}` }];
}
