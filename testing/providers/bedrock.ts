import { isBlank, quote } from './json.ts';
import { type ModelTurn, readModelMessages } from './model-messages.ts';
import {
  adjacentExchanges,
  judgeExchanges,
  type ToolExchange,
  type ToolExchangeWords,
  type ToolRef,
} from './tool-exchange.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const TOOL_USE_ID = /^[a-zA-Z0-9_-]{1,64}$/;

const WORDS: ToolExchangeWords = {
  unanswered: 'Expected toolResult blocks at messages.N.content, the turn right after the call',
  orphan: 'toolResult blocks exceed the toolUse blocks of the previous turn',
  repeated: 'a toolUse block has more than one toolResult',
  reused: 'a toolUseId is used twice in one request',
};

interface BedrockTurn extends ToolExchange {
  readonly at: string;
  readonly role: 'user' | 'assistant';
}

/**
 * The rules of Bedrock's Converse API. Its wire format has no tool role: tool results and the next user message are
 * one user turn.
 */
export function validateBedrock(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const read = readModelMessages(list, report);
    for (const turn of read) judgeParts(turn, report);
    const turns = mergeUserTurns(read);
    let previous = 'assistant';
    for (const [index, { role, at }] of turns.entries()) {
      if (index === 0 && role === 'assistant') {
        report('first-message-not-user', at, 'A conversation must start with a user message');
      } else if (role === previous) {
        report('roles-not-alternating', at, `two turns of the ${role} in a row`);
      }
      previous = role;
    }
    judgeExchanges(adjacentExchanges(turns), WORDS, report);
  });
}

function judgeParts({ parts }: ModelTurn, report: Report): void {
  for (const part of parts) {
    // Only blocks of the message itself: Converse accepts a tool result with a blank text.
    if (part.type === 'text' && isBlank(part.text)) {
      report('empty-text', part.at, 'The text field in the ContentBlock object is blank');
    }
    if (part.type === 'tool-call' && !TOOL_USE_ID.test(part.id)) {
      report('tool-use-id', part.at, `toolUseId does not match ${TOOL_USE_ID.source}: ${quote(part.id)}`);
    }
  }
}

function mergeUserTurns(read: readonly ModelTurn[]): BedrockTurn[] {
  const turns: BedrockTurn[] = [];
  let results: ToolRef[] | undefined;
  for (const turn of read) {
    if (turn.role === 'assistant') {
      results = undefined;
      turns.push({ at: turn.at, role: 'assistant', calls: turn.calls, results: [] });
      continue;
    }
    if (!results) {
      results = [];
      turns.push({ at: turn.at, role: 'user', calls: [], results });
    }
    for (const result of turn.results) results.push(result);
  }
  return turns;
}
