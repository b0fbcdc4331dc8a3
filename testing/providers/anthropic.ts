import { judgeAnthropicImages } from './anthropic-images.ts';
import { type AnthropicTurn, readAnthropicMessage } from './anthropic-message.ts';
import { exceedsJsonBytes } from './json.ts';
import { adjacentExchanges, judgeExchanges, type ToolExchangeWords } from './tool-exchange.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const MAX_REQUEST_BYTES = 32 * 1000 * 1000;

const WORDS: ToolExchangeWords = {
  unanswered: '`tool_use` ids were found without `tool_result` blocks immediately after',
  orphan: 'unexpected `tool_use_id` found in `tool_result` blocks',
  repeated: 'each `tool_use` must have a single result',
  reused: '`tool_use` ids must be unique',
};

/**
 * The rules of Anthropic's Messages API. One rule cannot be checked in a single request: "`thinking` or
 * `redacted_thinking` blocks in the latest assistant message cannot be modified".
 */
export function validateAnthropicMessages(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = list.map((message, index) => readAnthropicMessage(message, `messages[${index}]`, report));
    judgeRoles(turns, report);
    judgeEndings(turns, report);
    judgeExchanges(adjacentExchanges(turns), WORDS, report);
    judgeAnthropicImages(
      turns.flatMap((turn) => turn.images),
      report,
    );
    if (exceedsJsonBytes(list, MAX_REQUEST_BYTES)) {
      report('request-too-large', 'messages', `request_too_large: more than ${MAX_REQUEST_BYTES} bytes`);
    }
  });
}

function judgeRoles(turns: readonly AnthropicTurn[], report: Report): void {
  let previous: AnthropicTurn['role'];
  for (const [index, { role, at }] of turns.entries()) {
    if (index === 0 && role === 'assistant') {
      report('first-message-not-user', at, 'first message must use the "user" role');
    }
    if (role !== undefined && role === previous) {
      report(
        'roles-not-alternating',
        at,
        `roles must alternate between "user" and "assistant": two of "${role}"`,
      );
    }
    previous = role;
  }
}

function judgeEndings(turns: readonly AnthropicTurn[], report: Report): void {
  for (const [index, { role, at, lastBlock }] of turns.entries()) {
    if (role !== 'assistant' || !lastBlock) continue;
    const { type, text } = lastBlock;
    if (type === 'thinking' || type === 'redacted_thinking') {
      report('ends-with-thinking', at, 'the final block in an assistant message cannot be `thinking`');
    }
    const isLast = index === turns.length - 1;
    if (isLast && type === 'text' && typeof text === 'string' && text !== text.trimEnd()) {
      report('trailing-whitespace', at, 'final assistant content cannot end with trailing whitespace');
    }
  }
}
