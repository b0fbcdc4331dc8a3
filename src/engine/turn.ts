import { RepriseError } from '../errors.ts';
import { Answer } from '../models/answer.ts';
import type { FinishEvent, ModelRequest } from '../models/model.ts';
import { isSilentOverflow } from '../models/overflow.ts';
import type { Lease, NewEntry } from '../store/store.ts';
import type { AssistantMessage, Usage } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import type { DoneEvent, TurnEvent } from './events.ts';
import type { ContextGuard } from './guard.ts';
import { type CallManifest, manifestOf } from './manifest.ts';
import { runToolRound } from './tool-round.ts';
import type { ToolCall } from './tools/run-tool.ts';
import type { Tool } from './tools/tool.ts';
import { addUsage, NO_USAGE } from './totals.ts';
import type { ContextView, RequestFrame } from './turn-context.ts';
import type { TurnStore } from './turn-store.ts';

export interface TurnOptions {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly turnId: string;
  readonly inboxId: string;
  readonly lease: Lease;
  readonly signal: AbortSignal;
  readonly emit: (event: TurnEvent) => void;
  readonly guard: ContextGuard;
  readonly frame: () => RequestFrame;
  readonly window: () => number;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly maxSteps: number;
  /** Called with what a request was estimated at and what the provider counted. */
  readonly onUsage: (estimated: number, usage: Usage) => void;
  /** At a point where the history is whole: between two calls of the model. */
  readonly atBoundary: () => Promise<void>;
}

export type TurnEnd = Omit<DoneEvent, 'type'>;

/**
 * From a stored user message to a stored answer. Whatever ends it, what arrived is stored with the reason, so the
 * history stays valid and the next message can follow (P4).
 */
export class Turn {
  readonly #options: TurnOptions;
  readonly #calls: CallManifest[] = [];
  #usage: Usage = NO_USAGE;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  async run(): Promise<TurnEnd> {
    const { maxSteps, signal, atBoundary } = this.#options;
    for (let step = 0; step < maxSteps; step++) {
      await atBoundary();
      const { message, calls } = await this.#ask();
      if (calls.length === 0) return await this.#finish(message);
      await this.#store([{ type: 'message', message }]);
      await runToolRound(calls, this.#options);
      if (signal.aborted) throw await this.#fail(new Answer(), aborted(signal));
    }
    const error = new RepriseError('LIMIT_EXCEEDED', `the turn took more than ${maxSteps} steps`, {
      details: { limit: 'maxSteps', next: 'Ask it to go on, or allow more steps.' },
    });
    throw await this.#fail(new Answer(), error);
  }

  /** One answer of the model; a request it refuses as too long is made smaller and sent again. */
  async #ask(): Promise<{ message: AssistantMessage; calls: ToolCall[] }> {
    const { guard, frame, window, onUsage } = this.#options;
    for (;;) {
      const answer = new Answer();
      let view: ContextView | undefined;
      try {
        view = await guard.fit(frame());
        const started = performance.now();
        const finish = await this.#stream(view.request, answer);
        const { usage } = finish;
        if (usage !== undefined) {
          onUsage(view.estimated, usage);
          this.#usage = addUsage(this.#usage, usage);
        }
        const isCut = finish.stopReason === 'length' || isSilentOverflow(finish, window());
        if (isCut && answer.content().length === 0)
          throw new RepriseError('CONTEXT_OVERFLOW', 'the model had no room for an answer');
        this.#calls.push(manifestOf(view, finish, performance.now() - started));
        return { message: finish.message, calls: callsOf(finish.message) };
      } catch (error) {
        const { signal } = this.#options;
        if (signal.aborted) throw await this.#fail(answer, aborted(signal));
        if (!(error instanceof RepriseError)) throw await this.#fail(answer, unexpected(error));
        const isOverflow = error.code === 'CONTEXT_OVERFLOW' && view !== undefined;
        if (!isOverflow) throw await this.#fail(answer, error);
        await guard.shrink(view as ContextView, frame(), error).catch(async (final: unknown) => {
          throw await this.#fail(answer, final instanceof RepriseError ? final : unexpected(final));
        });
      }
    }
  }

  async #stream(request: ModelRequest, answer: Answer): Promise<FinishEvent> {
    const { emit, frame, signal, sessionId } = this.#options;
    const { model } = frame();
    for await (const event of model.stream({ ...request, cacheKey: sessionId }, { signal })) {
      answer.take(event);
      switch (event.type) {
        case 'text_delta':
        case 'thinking_delta':
          emit({ type: event.type, text: event.text });
          break;
        case 'retry':
          emit({ type: 'retry', attempt: event.attempt, delayMs: event.delayMs, reason: event.reason });
          break;
        case 'tool_call':
          break;
        case 'finish':
          return event;
        default:
          event satisfies never;
      }
    }
    throw new RepriseError('MODEL_FAILED', 'the stream ended without a finish event');
  }

  async #finish(message: AssistantMessage): Promise<TurnEnd> {
    const { turnId } = this.#options;
    const entry = this.#turnEntry('done');
    await this.#store([{ type: 'message', message }, entry]);
    const tokenEstimate = this.#calls.at(-1)?.tokens ?? 0;
    const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
    return { turnId, text, usage: this.#usage, tokenEstimate: tokenEstimate + (message.usage?.output ?? 0) };
  }

  /** Stores what had arrived and why it ended; answers with the error for its caller to throw. */
  async #fail(answer: Answer, error: RepriseError): Promise<RepriseError> {
    const { lease, frame } = this.#options;
    if (lease.signal.aborted || isFenced(error)) return error; // the session is another runner's now
    const stopReason = error.code === 'ABORTED' ? 'aborted' : 'error';
    const entry = this.#turnEntry(stopReason, error);
    const partial = answer.content();
    const message = answer.message(frame().model, { stopReason, errorMessage: error.message });
    try {
      await this.#store(partial.length === 0 ? [entry] : [{ type: 'message', message }, entry]);
    } catch (failed) {
      if (failed instanceof RepriseError && isFenced(failed)) return failed;
      // The first failure is what people should see; that it could not be written down either stands beside it.
      return new RepriseError(error.code, error.message, {
        cause: failed,
        details: { ...error.details, unsaved: failed instanceof Error ? failed.message : String(failed) },
      });
    }
    return error;
  }

  #turnEntry(status: 'done' | 'aborted' | 'error', error?: RepriseError): NewEntry {
    const { turnId, inboxId } = this.#options;
    const failure = error === undefined ? {} : { error: { code: error.code, message: error.message } };
    const data = { turnId, inboxId, status, ...failure, calls: this.#calls, usage: this.#usage };
    return { type: 'custom', customType: 'reprise.turn', data };
  }

  async #store(entries: readonly NewEntry[]): Promise<void> {
    const { store, sessionId, lease, emit } = this.#options;
    const { firstSeq, lastSeq } = await store.append(sessionId, entries, { epoch: lease.epoch });
    for (const [i, { type }] of entries.entries())
      if (firstSeq + i <= lastSeq) emit({ type: 'entry', seq: firstSeq + i, entryType: type });
  }
}

function callsOf(message: AssistantMessage): ToolCall[] {
  return message.content.flatMap((block) => {
    if (block.type !== 'toolCall') return [];
    const { id, name, arguments: input, partialJson } = block as typeof block & { partialJson?: string };
    return [
      {
        id,
        name,
        input: input as JsonObject,
        ...(partialJson !== undefined && { rawArguments: partialJson }),
      },
    ];
  });
}

/** Known by a refused append before the lease is told that it is lost. */
function isFenced({ code }: RepriseError): boolean {
  return code === 'FENCED';
}

function aborted({ reason }: AbortSignal): RepriseError {
  if (reason instanceof RepriseError) return reason;
  return new RepriseError('ABORTED', 'the turn was stopped', { cause: reason });
}

function unexpected(error: unknown): RepriseError {
  const message = error instanceof Error ? error.message : String(error);
  return new RepriseError('MODEL_FAILED', `the turn failed: ${message}`, { cause: error });
}
