import type { ProjectedMessage } from '../transcript/render/conversation.ts';

/**
 * Counts tokens by the rule of thumb of many small agents: a quarter of the characters, rounded down for each text,
 * without message overhead. Their thresholds mean this count. It is far too low for Chinese and for code, so it never
 * decides whether a request fits a window.
 */
export function countChars4(messages: readonly ProjectedMessage[]): number {
  let tokens = 0;
  for (const message of messages) {
    if (message.role === 'tool') for (const { text } of message.results) tokens += quarter(text);
    else for (const part of message.content) tokens += partTokens(part);
  }
  return tokens;
}

type Part = Extract<ProjectedMessage, { content: unknown }>['content'][number];

function partTokens(part: Part): number {
  switch (part.type) {
    case 'text':
      return quarter(part.text);
    case 'thinking':
      return quarter(part.thinking);
    case 'call':
      return quarter(JSON.stringify(part.input));
    case 'image':
      return 0;
    default:
      part satisfies never;
      return 0;
  }
}

/** Counts characters, not code units: an emoji is one. */
function quarter(text: string): number {
  let count = 0;
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++;
  return Math.floor(count / 4);
}
