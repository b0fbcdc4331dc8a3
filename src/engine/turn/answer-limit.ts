import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { ModelEvent } from '../../models/model.ts';

/** What one answer may be: as JSON a character takes six bytes at most, and a line sixteen million. */
const MAX_ANSWER_CHARS = 2_000_000;

export interface Weighed {
  /** What of it is still taken; undefined: nothing. */
  readonly taken: ModelEvent | undefined;
  /** The answer ends here, because a line could not hold more of it. */
  readonly error?: RepriseError;
}

/** Of a model that does not stop, what can be stored is stored: an answer that fits no line would be lost whole. */
export class AnswerLimit {
  #left = MAX_ANSWER_CHARS;

  weigh(event: ModelEvent): Weighed {
    const chars = charsOf(event);
    if (chars <= this.#left) {
      this.#left -= chars;
      return { taken: event };
    }
    const max = MAX_ANSWER_CHARS;
    const error = failure(
      'LIMIT_EXCEEDED',
      'turn.answerTooLong',
      { max },
      { details: { limit: 'answer', max } },
    );
    // Never half a call, nor half a character: no provider would take it back.
    const isText = event.type === 'text_delta' || event.type === 'thinking_delta';
    return {
      taken: isText
        ? { ...event, text: event.text.slice(0, this.#left).replace(/[\ud800-\udbff]$/, '') }
        : undefined,
      error,
    };
  }
}

function charsOf(event: ModelEvent): number {
  switch (event.type) {
    case 'text_delta':
    case 'thinking_delta':
      return event.text.length;
    case 'tool_call':
      return (event.rawArguments ?? JSON.stringify(event.input)).length;
    default:
      return 0;
  }
}
