import { quote } from './json.ts';
import { type ModelTurn, providerOption, readModelMessages } from './model-messages.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const CALL_ID = /^[a-zA-Z0-9]{1,64}$/;

/**
 * The turn rules of Gemini. In its wire format an assistant message is one model turn, and a tool message is one turn
 * of function responses, which are matched with the calls by their number.
 */
export function validateGemini(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = readModelMessages(list, report);
    const first = turns[0];
    if (first && first.role !== 'user') {
      report('first-message-not-user', first.at, 'the first turn must be a user turn');
    }
    for (const [index, turn] of turns.entries()) {
      judgeCallTurn(turn, turns[index - 1], report);
      judgeResponseCount(turn, turns[index + 1], report);
      if (turn.role === 'tool' && (turns[index - 1]?.calls.length ?? 0) === 0) {
        report(
          'function-response-count',
          turn.at,
          'a function response turn without a function call turn before it',
        );
      }
    }
  });
}

function judgeCallTurn({ calls, at }: ModelTurn, previous: ModelTurn | undefined, report: Report): void {
  const [first] = calls;
  if (!first) return;
  if (!previous || previous.role === 'assistant') {
    const rule = 'function call turn comes immediately after a user turn or after a function response turn';
    report('function-call-turn-order', at, `Please ensure that ${rule}`);
  }
  // Parallel calls share the signature of the first.
  const signature = providerOption(first.options, 'google', 'thoughtSignature');
  if (typeof signature !== 'string' || signature === '') {
    report('missing-thought-signature', first.at, 'Function call is missing a thought_signature');
  }
  for (const { id, at: where } of calls) {
    if (!CALL_ID.test(id)) report('tool-use-id', where, `id does not match ${CALL_ID.source}: ${quote(id)}`);
  }
}

function judgeResponseCount({ calls, at }: ModelTurn, next: ModelTurn | undefined, report: Report): void {
  const responses = next?.results.length ?? 0;
  if (calls.length === 0 || calls.length === responses) return;
  const rule = 'number of function response parts is equal to the number of function call parts';
  report('function-response-count', at, `Please ensure that the ${rule}: ${responses} for ${calls.length}`);
}
