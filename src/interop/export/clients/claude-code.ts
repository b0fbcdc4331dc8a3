import { createHash } from 'node:crypto';
import type { AnthropicBlock, AnthropicMessage } from '../../../transcript/render/render-anthropic.ts';
import type { SessionDocument } from '../../session-document.ts';
import { seedHistory } from '../seed-messages.ts';
import { firstWords } from '../story.ts';
import type { ClientSession } from './client-export.ts';
import { callFor } from './tool-names.ts';

/** The version whose files look like this. */
const VERSION = '2.1.325';
const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

/** The lines of a session of Claude Code: one chain, with one line per result as Claude Code writes them. */
export function* claudeCodeLines(
  document: SessionDocument,
  { id, cwd, now, full }: ClientSession,
): Generator<string> {
  const { summary, kept, after } = seedHistory(document.entries, full);
  let parentUuid: string | null = null;
  let count = 0;
  const line = (at: string, fields: object): string => {
    const uuid = uuidOf(`${id}:${count++}`);
    const head = { parentUuid, isSidechain: false };
    const tail = {
      uuid,
      timestamp: at,
      userType: 'external',
      entrypoint: 'cli',
      cwd,
      sessionId: id,
      version: VERSION,
      gitBranch: '',
    };
    // Ignored by Claude Code; a later import of this file finds the session by it.
    const origin =
      count === 1 ? { reprise: { session: document.id, leaf: document.entries.at(-1)?.id ?? null } } : {};
    parentUuid = uuid;
    return `${JSON.stringify({ ...head, ...fields, ...tail, ...origin })}\n`;
  };
  if (summary !== undefined && summary.text.trim() !== '') {
    const compactMetadata = { trigger: 'manual', preTokens: summary.tokensBefore };
    yield line(summary.at, {
      type: 'system',
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      level: 'info',
      isMeta: false,
      compactMetadata,
    });
    const message = { role: 'user', content: summary.text };
    yield line(summary.at, {
      type: 'user',
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      message,
    });
  }
  for (const { message, at } of [...kept, ...after]) {
    if (message.role === 'assistant') {
      const content = blocksOf(message).map(renamed);
      const isCalling = content.some(({ type }) => type === 'tool_use');
      yield line(at, {
        type: 'assistant',
        message: {
          id: `msg_${uuidOf(`${id}:message:${count}`).replaceAll('-', '')}`,
          type: 'message',
          role: 'assistant',
          model: modelOf(document),
          content,
          stop_reason: isCalling ? 'tool_use' : 'end_turn',
          stop_sequence: null,
          usage: NO_USAGE,
        },
      });
      continue;
    }
    const blocks = blocksOf(message);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    for (const result of results)
      yield line(at, { type: 'user', message: { role: 'user', content: [result] } });
    const said = blocks.filter(({ type }) => type !== 'tool_result');
    if (said.length === 0) continue;
    const content = typeof message.content === 'string' ? message.content : said;
    yield line(at, { type: 'user', message: { role: 'user', content } });
  }
  yield `${JSON.stringify({ type: 'custom-title', customTitle: firstWords(document).slice(0, 200), sessionId: id })}\n`;
  yield `${JSON.stringify({ type: 'last-prompt', leafUuid: parentUuid, sessionId: id, timestamp: now.toISOString() })}\n`;
}

export function blocksOf({ content }: AnthropicMessage): readonly AnthropicBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function renamed(block: AnthropicBlock): AnthropicBlock {
  return block.type === 'tool_use' ? { ...block, ...callFor('claude-code', block.name, block.input) } : block;
}

/** Shown by Claude Code only; it asks the model that the user chose. */
function modelOf({ entries }: SessionDocument): string {
  for (const { message } of entries.toReversed()) {
    const model = (message as { readonly model?: unknown } | undefined)?.model;
    if (typeof model === 'string' && model.startsWith('claude')) return model;
  }
  return '<synthetic>';
}

/** The same export of the same session has the same ids, which makes files comparable. */
function uuidOf(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
