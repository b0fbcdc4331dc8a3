import { estimateTextTokens } from '../../context/estimate.ts';
import type { ProjectedMessage } from '../../transcript/conversation.ts';
import type { ModelRequest } from '../model.ts';

/** Roles and brackets around a message. */
const PER_MESSAGE = 4;
/** What providers count for an image of ordinary size. */
const PER_IMAGE = 1600;

/** What a request weighs by the estimator. */
export function requestTokens({ system = '', messages, tools = [] }: ModelRequest): number {
  let tokens = estimateTextTokens(system);
  if (tools.length > 0) tokens += estimateTextTokens(JSON.stringify(tools));
  for (const message of messages) tokens += messageTokens(message);
  return tokens;
}

function messageTokens(message: ProjectedMessage): number {
  let tokens = PER_MESSAGE;
  if (message.role === 'tool') {
    for (const { name, text } of message.results)
      tokens += estimateTextTokens(name) + estimateTextTokens(text);
    return tokens;
  }
  for (const part of message.content) {
    if (part.type === 'text') tokens += estimateTextTokens(part.text);
    else if (part.type === 'image') tokens += PER_IMAGE;
    else if (part.type === 'thinking') tokens += estimateTextTokens(part.thinking);
    else tokens += estimateTextTokens(part.name) + estimateTextTokens(JSON.stringify(part.input));
  }
  return tokens;
}
