import { type ChatTurn, chatExchanges, readChatMessages } from './chat-messages.ts';
import { CHAT_WORDS } from './openai-chat.ts';
import { judgeExchanges, type ToolExchangeWords } from './tool-exchange.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const { unanswered, orphan, repeated } = CHAT_WORDS;
/** A template renders ids; it does not compare them over the whole conversation. */
const WORDS: ToolExchangeWords = { unanswered, orphan, repeated };

/** OpenAI's chat format as the strict chat templates of vLLM and llama.cpp render it. */
export function validateLocalTemplate(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = readChatMessages(list, report);
    judgeExchanges(chatExchanges(turns), WORDS, report);
    judgeAlternation(turns, report);
  });
}

/**
 * Templates do not count messages with tool calls and tool results. So a user message right after a result counts as
 * a second user message in a row.
 */
function judgeAlternation(turns: readonly ChatTurn[], report: Report): void {
  let previous = 'assistant';
  for (const { role, calls, at } of turns) {
    if (role !== 'user' && (role !== 'assistant' || calls.length > 0)) continue;
    if (role === previous) {
      report(
        'roles-not-alternating',
        at,
        'Conversation roles must alternate user/assistant/user/assistant/...',
      );
    }
    previous = role;
  }
}
