import { quote } from './json.ts';
import { type ModelToolRef, type ModelTurn, readModelMessages } from './model-messages.ts';
import { adjacentExchanges, judgeExchanges, type ToolExchangeWords } from './tool-exchange.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const WORDS: ToolExchangeWords = {
  unanswered: 'the tool message right after has no result for this call',
  orphan: 'the message right before has no call for this result',
  repeated: 'a call has more than one result',
  reused: 'the id of a tool call is used twice in one request',
};

/** Checks the shape of the AI SDK's ModelMessage list, before any provider's adapter has seen it. */
export function validateAiSdkMessages(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = readModelMessages(list, report);
    for (const turn of turns) judgeTexts(turn, report);
    judgeExchanges(adjacentExchanges(turns), WORDS, report);
    for (const [index, turn] of turns.entries())
      judgeAnswers(turns[index - 1]?.calls ?? [], turn.results, report);
  });
}

function judgeTexts({ parts }: ModelTurn, report: Report): void {
  for (const part of parts) {
    if (part.type === 'file' || part.type === 'tool-call' || part.text !== '') continue;
    // Hidden reasoning has no text; its content is in the provider's options.
    if (part.type === 'reasoning' && Object.keys(part.options).length > 0) continue;
    report('empty-text', part.at, `the text of this ${part.type} part is empty`);
  }
}

/** Results must name the called tool and come in the order of the calls. */
function judgeAnswers(
  calls: readonly ModelToolRef[],
  results: readonly ModelToolRef[],
  report: Report,
): void {
  const places = new Map(calls.map((call, place) => [call.id, { place, name: call.name }]));
  let furthest = -1;
  for (const result of results) {
    const call = places.get(result.id);
    if (!call) continue;
    if (call.name !== result.name) {
      report(
        'tool-name-mismatch',
        result.at,
        `the call names ${quote(call.name)}, not ${quote(result.name)}`,
      );
    }
    if (call.place < furthest)
      report('tool-result-order', result.at, 'results are not in the order of the calls');
    furthest = Math.max(furthest, call.place);
  }
}
