import { quote } from './json.ts';
import { type ModelToolRef, type ModelTurn, providerOption, readModelMessages } from './model-messages.ts';
import { judgeRequest, type Report, type Violation } from './violation.ts';

const MAX_CALL_ID = 64;

/**
 * The rules of OpenAI's Responses API. Its wire format is a flat list of items: an output may come at any point after
 * its call.
 */
export function validateOpenAiResponses(messages: readonly unknown[]): Violation[] {
  return judgeRequest(messages, (list, report) => {
    const turns = readModelMessages(list, report);
    for (const turn of turns) judgeItems(turn, report);
    judgeOutputs(turns, report);
  });
}

function judgeItems({ parts }: ModelTurn, report: Report): void {
  let reasoned = false;
  for (const part of parts) {
    if (part.type === 'reasoning') reasoned = true;
    if (part.type !== 'tool-call') continue;
    if (part.id.length < 1 || part.id.length > MAX_CALL_ID) {
      report('tool-use-id', part.at, `a call_id is 1 to ${MAX_CALL_ID} characters: ${quote(part.id)}`);
    }
    // An item id makes the server look up what it stored, and it stored the call together with its reasoning.
    const itemId = providerOption(part.options, 'openai', 'itemId');
    if (!reasoned && typeof itemId === 'string' && itemId.startsWith('fc_')) {
      const message = "function_call was provided without its required 'reasoning' item";
      report('function-call-without-reasoning', part.at, `${message}: ${quote(itemId)}`);
    }
  }
  const last = parts.at(-1);
  if (last?.type === 'reasoning') {
    const message = 'reasoning was provided without its required following item';
    report('reasoning-without-following-item', last.at, message);
  }
}

function judgeOutputs(turns: readonly ModelTurn[], report: Report): void {
  const called = new Set<string>();
  const open = new Map<string, ModelToolRef>();
  for (const { calls, results } of turns) {
    for (const call of calls) {
      called.add(call.id);
      open.set(call.id, call);
    }
    for (const { id, at } of results) {
      if (!called.has(id)) {
        report('tool-result-without-use', at, `No tool call found for function call output: ${quote(id)}`);
      }
      open.delete(id);
    }
  }
  for (const { id, at } of open.values()) {
    report('tool-use-without-result', at, `No tool output found for function call ${quote(id)}`);
  }
}
