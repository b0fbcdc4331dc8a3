import { type ChatTurn, chatExchanges, readChatMessages } from './chat-messages.ts';
import { quote } from './json.ts';
import { judgeExchanges, type ToolExchangeWords } from './tool-exchange.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

export const CHAT_WORDS: Required<ToolExchangeWords> = {
  unanswered:
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'",
  orphan: "messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
  repeated: "a 'tool_call_id' has more than one response",
  reused: 'the id of a tool call is used twice in one request',
};

/** The rules of OpenAI's chat completions. */
export function validateOpenAiChat(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = judgeChat(list, report);
    judgeToolIds(turns, report, {
      fits: (id) => id.length >= 1 && id.length <= 40,
      wanted: '1 to 40 characters',
    });
  });
}

/** All rules that OpenAI's API shares with its stricter variants: everything except the format of tool ids. */
export function judgeChat(list: readonly unknown[], report: Report): ChatTurn[] {
  const turns = readChatMessages(list, report);
  judgeOrder(turns, report);
  judgeExchanges(chatExchanges(turns), CHAT_WORDS, report);
  for (const call of turns.flatMap((turn) => turn.calls)) {
    if (!TOOL_NAME.test(call.name)) {
      report('tool-name', call.at, `name does not match ${TOOL_NAME.source}: ${quote(call.name)}`);
    }
  }
  return turns;
}

export function judgeToolIds(
  turns: readonly ChatTurn[],
  report: Report,
  { fits, wanted }: { readonly fits: (id: string) => boolean; readonly wanted: string },
): void {
  for (const { id, at } of turns.flatMap((turn) => turn.calls)) {
    if (!fits(id)) report('tool-use-id', at, `a tool call id is ${wanted}: ${quote(id)}`);
  }
}

function judgeOrder(turns: readonly ChatTurn[], report: Report): void {
  const first = turns.find((turn) => turn.role !== 'system');
  if (first?.role === 'assistant' || first?.role === 'tool') {
    report('first-message-not-user', first.at, `the conversation starts with the role ${first.role}`);
  }
  let previous: string | undefined;
  for (const { role, calls, at } of turns) {
    // A message with calls is followed by results, so it is never adjacent to the next message of its role.
    const speaker = role === 'user' || (role === 'assistant' && calls.length === 0) ? role : undefined;
    if (speaker !== undefined && speaker === previous) {
      report('roles-not-alternating', at, `two messages of the ${speaker} in a row`);
    }
    previous = speaker;
  }
}
