import type { StreamEvent } from '../protocol/events.ts';

/** One chunk of the AI SDK's UI message stream. */
export type UiChunk = { readonly type: string; readonly [name: string]: unknown };

type TextKind = 'text' | 'reasoning';

/** Converts the events of a message to the chunks of one assistant message. */
export class UiChunks {
  readonly #messageId: string;
  #isStarted = false;
  #open: { readonly kind: TextKind; readonly id: string } | undefined;
  #parts = 0;
  #inStep = false;
  /** A tool of this step has returned, so what comes next is another call of the model. */
  #hasResult = false;

  constructor(messageId: string) {
    this.#messageId = messageId;
  }

  read(event: StreamEvent): UiChunk[] {
    switch (event.type) {
      case 'session':
        return this.#start();
      case 'text_delta':
        return this.#delta('text', event.text);
      case 'thinking_delta':
        return this.#delta('reasoning', event.text);
      case 'command':
        return this.#delta('text', event.text);
      case 'interrupted':
        // What was streamed before is lost, and this is what was stored of it. A stream that showed some of it continues.
        return this.#parts === 0 && event.text !== '' ? this.#delta('text', event.text) : [];
      case 'tool_call': {
        const { id: toolCallId, name: toolName, input } = event;
        const call = { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
        return [...this.#close(), ...this.#step(), call];
      }
      case 'tool_progress': {
        const { toolCallId, text } = event;
        return [{ type: 'data-tool-progress', data: { toolCallId, text }, transient: true }];
      }
      case 'tool_result': {
        const { toolCallId, text, isError } = event;
        this.#hasResult = true;
        return isError
          ? [{ type: 'tool-output-error', toolCallId, errorText: text, dynamic: true }]
          : [{ type: 'tool-output-available', toolCallId, output: text, dynamic: true }];
      }
      case 'usage':
        // A call of the model that only calls tools emits nothing before.
        return [...this.#close(), ...this.#nextStep()];
      case 'done':
        return [
          ...this.#endStep(),
          { type: 'finish', messageMetadata: { turnId: event.turnId, usage: event.usage } },
        ];
      case 'error':
        return [
          ...this.#endStep(),
          event.code === 'ABORTED' ? { type: 'abort' } : { type: 'error', errorText: event.error },
        ];
      default:
        return []; // about the context window, which the chat does not show
    }
  }

  #start(): UiChunk[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    return [{ type: 'start', messageId: this.#messageId }];
  }

  #delta(kind: TextKind, delta: string): UiChunk[] {
    if (this.#open?.kind === kind) return [{ type: `${kind}-delta`, id: this.#open.id, delta }];
    const before = [...this.#close(), ...this.#nextStep()];
    const id = `${kind}-${++this.#parts}`;
    this.#open = { kind, id };
    return [...before, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }

  #close(): UiChunk[] {
    if (this.#open === undefined) return [];
    const { kind, id } = this.#open;
    this.#open = undefined;
    return [{ type: `${kind}-end`, id }];
  }

  #step(): UiChunk[] {
    if (this.#inStep) return [];
    this.#inStep = true;
    return [{ type: 'start-step' }];
  }

  /** A step is one call of the model with the results of its tools. */
  #nextStep(): UiChunk[] {
    return [...(this.#hasResult ? this.#endStep() : []), ...this.#step()];
  }

  #endStep(): UiChunk[] {
    const closed = this.#close();
    if (!this.#inStep) return closed;
    this.#inStep = false;
    this.#hasResult = false;
    return [...closed, { type: 'finish-step' }];
  }
}
