import { estimateTokens } from '../../context/estimate-message.ts';
import { RepriseError } from '../../errors.ts';
import { causeText, messageText } from '../../messages/english.ts';
import { failure, sameFailure } from '../../messages/failure.ts';
import { failedMessage, type Message, message } from '../../messages/message.ts';
import type { ProviderAnswer } from '../../messages/params/params-models.ts';
import { Answer } from '../../models/answer.ts';
import type { FinishEvent, Model, ModelEvent, ModelRequest } from '../../models/model.ts';
import { isSilentOverflow } from '../../models/overflow.ts';
import type { AppendReceipt, Lease, NewEntry } from '../../store/port/store.ts';
import type { AssistantMessage, Usage } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { addUsage, NO_USAGE } from '../admin/totals.ts';
import type { DoneEvent, TurnEvent } from '../events.ts';
import type { ToolCall } from '../tools/run-tool.ts';
import type { Tool } from '../tools/tool.ts';
import type { ContextGuard } from '../window/guard.ts';
import { AnswerLimit } from './answer-limit.ts';
import { type CallManifest, manifestOf } from './manifest.ts';
import { requestHash } from './request-hash.ts';
import { runToolRound } from './tool-round.ts';
import { type ContextView, makeView, type RequestFrame } from './turn-context.ts';
import { isFenced, storedError, type TurnEnding, type TurnOutcome, unexpected } from './turn-outcome.ts';
import type { TurnStore } from './turn-store.ts';

export interface TurnOptions {
  readonly store: TurnStore;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  /** Who wrote the message that the turn answers, if known. */
  readonly user: string | undefined;
  readonly turnId: string;
  readonly inboxId: string;
  /** Inbox rows of the other messages that this turn answers. */
  readonly merged: () => readonly string[];
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
  /**
   * Called when the provider does not know the model. Afterwards `frame` and `window` are those of another model.
   * @returns false if there is no other model for this session.
   */
  readonly useOtherModel: (refusal: RepriseError) => Promise<boolean>;
  /** At a point where the history is whole: between two calls of the model. */
  readonly atBoundary: () => Promise<void>;
  /** Before each tool: true when something newer waits, so that those not yet started are left out. */
  readonly isOvertaken: () => Promise<boolean>;
  /** Waits for another session without keeping others from running. */
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
  /** What the reply says about what it took; undefined: nothing. */
  readonly usageMessage: (usage: Usage) => Message | undefined;
  /** What else is written in the append that ends the turn. */
  readonly ending: (outcome: TurnOutcome) => TurnEnding;
  /** Whether the append that ends the turn releases the lease. */
  readonly mayRelease: () => boolean;
  readonly onReleased: () => void;
  readonly onEnded: () => void;
  /** The answer is whole, and the append that would have ended the turn failed. */
  readonly onUnwritten: (write: WriteAnswer) => void;
}

export type TurnEnd = Omit<DoneEvent, 'type'>;

/** Ends a turn that has its answer; again by another try, if the one before it failed. */
export type WriteAnswer = (by: Pick<TurnOptions, 'lease' | 'emit'>) => Promise<TurnEnd>;

/**
 * From a stored user message to a stored answer. Whatever ends it, what arrived is stored with the reason, so the
 * history stays valid and the next message can follow (P4).
 */
export class Turn {
  readonly #options: TurnOptions;
  readonly #calls: CallManifest[] = [];
  #usage: Usage = NO_USAGE;
  /** The refusal after which this turn sends stricter requests. */
  #refusal: RepriseError | undefined;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  async run(): Promise<TurnEnd> {
    const { maxSteps, signal, atBoundary } = this.#options;
    for (let step = 0; step < maxSteps; step++) {
      await atBoundary();
      if (signal.aborted) throw await this.#fail(new Answer(), aborted(signal));
      const { message, calls } = await this.#ask();
      if (calls.length === 0) return await this.#finish(message);
      await this.#store([{ type: 'message', message }]);
      await runToolRound(calls, this.#options);
      if (signal.aborted) throw await this.#fail(new Answer(), aborted(signal));
    }
    const error = failure(
      'LIMIT_EXCEEDED',
      'turn.tooManySteps',
      { max: maxSteps },
      { details: { limit: 'maxSteps' } },
    );
    throw await this.#fail(new Answer(), error);
  }

  /**
   * One answer of the model. A request that it refuses as too long is made smaller and sent again; one that it refuses
   * without a reason we know is sent once more, stricter.
   */
  async #ask(): Promise<{ message: AssistantMessage; calls: ToolCall[] }> {
    const { guard, window, onUsage, emit } = this.#options;
    for (;;) {
      const frame = this.#frame();
      const answer = new Answer();
      let view: ContextView | undefined;
      try {
        view = await guard.fit(frame);
        const started = performance.now();
        const finish = await this.#stream(view.request, answer);
        const { usage } = finish;
        if (usage !== undefined) {
          onUsage(view.estimated, usage);
          this.#usage = addUsage(this.#usage, usage);
          emit({ type: 'usage', usage });
        }
        const isCut = finish.stopReason === 'length' || isSilentOverflow(finish, window());
        if (isCut && answer.content().length === 0)
          throw failure('CONTEXT_OVERFLOW', 'model.noRoom', { model: frame.model.id });
        const { strict = false } = frame;
        this.#calls.push(manifestOf(view, finish, { latencyMs: performance.now() - started, strict }));
        return { message: finish.message, calls: callsOf(finish.message) };
      } catch (error) {
        const { signal } = this.#options;
        if (signal.aborted) throw await this.#fail(answer, aborted(signal));
        if (!(error instanceof RepriseError)) throw await this.#fail(answer, unexpected(error));
        if (view !== undefined && isUnknownRefusal(error)) {
          if (answer.content().length === 0 && this.#isStricter(view, frame)) {
            this.#refusal = error;
            const why = message('retry.stricter', refusedAnswer(error, frame.model));
            emit({ type: 'retry', attempt: 1, delayMs: 0, reason: causeText(why), why });
            continue;
          }
          throw await this.#fail(answer, asRefusal(this.#refusal ?? error, frame.model));
        }
        const isUnheard = error.code === 'MODEL_UNKNOWN' && answer.content().length === 0;
        if (isUnheard && (await this.#options.useOtherModel(error))) continue;
        const isOverflow = error.code === 'CONTEXT_OVERFLOW' && view !== undefined;
        if (!isOverflow) throw await this.#fail(answer, error);
        await guard.shrink(view as ContextView, frame, error).catch(async (final: unknown) => {
          throw await this.#fail(answer, final instanceof RepriseError ? final : unexpected(final));
        });
      }
    }
  }

  #frame(): RequestFrame {
    return { ...this.#options.frame(), strict: this.#refusal !== undefined };
  }

  /** Whether a strict request would differ from the one that was refused. */
  #isStricter({ entries, request }: ContextView, frame: RequestFrame): boolean {
    if (this.#refusal !== undefined) return false;
    const strict = makeView(entries, { ...frame, strict: true }).request;
    return requestHash(strict) !== requestHash(request) || request.thinkingLevel !== undefined;
  }

  async #stream(request: ModelRequest, answer: Answer): Promise<FinishEvent> {
    const { emit, frame, signal, sessionId } = this.#options;
    const { model } = frame();
    const events = model.stream({ ...request, cacheKey: sessionId }, { signal });
    const limit = new AnswerLimit();
    for await (const given of untilAborted(events, signal)) {
      const { taken: event, error } = limit.weigh(given);
      if (event !== undefined) answer.take(event);
      switch (event?.type) {
        case 'text_delta':
        case 'thinking_delta':
          emit({ type: event.type, text: event.text });
          break;
        case 'retry':
          emit({ type: 'retry', ...retryFacts(event) });
          break;
        case 'tool_call':
        case undefined:
          break;
        case 'finish':
          return event;
        default:
          event satisfies never;
      }
      if (error !== undefined) throw error;
    }
    throw failure('MODEL_FAILED', 'model.incomplete', { provider: model.provider });
  }

  async #finish(message: AssistantMessage): Promise<TurnEnd> {
    const { turnId, ending, onEnded, onUnwritten } = this.#options;
    const reported = message.usage?.totalTokens ?? 0;
    const requested = this.#calls.at(-1)?.tokens ?? 0;
    const tokenEstimate = reported > 0 ? reported : requested + estimateTokens(message);
    const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
    const used = this.#options.usageMessage(this.#usage);
    const end = {
      turnId,
      text,
      usage: this.#usage,
      tokenEstimate,
      ...(used !== undefined && { usageLine: messageText(used), usageMessage: used }),
    };
    const entries = [{ type: 'message', message }, this.#turnEntry('done', { tokenEstimate })];
    const write: WriteAnswer = async (by) => {
      await this.#end(entries, ending({ end }), by);
      return end;
    };
    try {
      await write(this.#options);
    } catch (error) {
      onUnwritten(write);
      throw error;
    }
    onEnded();
    return end;
  }

  /** Stores what had arrived and why it ended; answers with the error for its caller to throw. */
  async #fail(answer: Answer, error: RepriseError): Promise<RepriseError> {
    const { lease, frame, ending, onEnded } = this.#options;
    if (lease.signal.aborted || isFenced(error)) return error; // the session is another runner's now
    const stopReason = error.code === 'ABORTED' ? 'aborted' : 'error';
    const entry = this.#turnEntry(stopReason, { error: storedError(error) });
    const partial = answer.content();
    const message = answer.message(frame().model, { stopReason, errorMessage: error.message });
    try {
      const entries = partial.length === 0 ? [entry] : [{ type: 'message', message }, entry];
      await this.#end(entries, ending({ error }));
      onEnded();
    } catch (failed) {
      if (failed instanceof RepriseError && isFenced(failed)) return failed;
      // The first failure is what people should see; that it could not be written down either stands beside it.
      return sameFailure(error, {
        cause: failed,
        details: { ...error.details, unsaved: failed instanceof Error ? failed.message : String(failed) },
      });
    }
    return error;
  }

  #turnEntry(status: 'done' | 'aborted' | 'error', how: JsonObject): NewEntry {
    const { turnId, inboxId } = this.#options;
    const merged = this.#options.merged();
    const rows = { inboxId, ...(merged.length > 0 && { merged }) };
    const data = { turnId, ...rows, status, ...how, calls: this.#calls, usage: this.#usage };
    return { type: 'custom', customType: 'reprise.turn', data };
  }

  async #store(entries: readonly NewEntry[]): Promise<void> {
    const { store, sessionId, lease, emit } = this.#options;
    this.#report(entries, await store.append(sessionId, entries, { epoch: lease.epoch }), emit);
  }

  async #end(
    entries: readonly NewEntry[],
    ending: TurnEnding,
    { lease, emit }: Pick<TurnOptions, 'lease' | 'emit'> = this.#options,
  ): Promise<void> {
    const { store, sessionId, mayRelease, onReleased } = this.#options;
    const turn = { sessionId, epoch: lease.epoch };
    const end = await store.turns.end(turn, entries, { ...ending, release: mayRelease() });
    if (end.released) onReleased();
    this.#report(entries, end, emit);
  }

  #report(
    entries: readonly NewEntry[],
    { firstSeq, lastSeq }: AppendReceipt,
    emit: TurnOptions['emit'],
  ): void {
    for (const [i, { type }] of entries.entries())
      if (firstSeq + i <= lastSeq) emit({ type: 'entry', seq: firstSeq + i, entryType: type });
  }
}

/** Mistral answers 422 where others answer 400. */
const REFUSALS: readonly unknown[] = [400, 422];

/** What has a known reason (too long, the key, the model, a limit) has another code. */
function isUnknownRefusal({ code, details }: RepriseError): boolean {
  return code === 'MODEL_FAILED' && REFUSALS.includes(details['status']);
}

/** The refusal, with what a user can do about it. */
function asRefusal(error: RepriseError, model: Model): RepriseError {
  const { code, details, cause } = error;
  return failure(code, 'model.refused', refusedAnswer(error, model), { details, cause });
}

/** Errors of a caller's own model have no `why`. */
function refusedAnswer({ why, message: text }: RepriseError, { provider, id }: Model): ProviderAnswer {
  return why?.code === 'model.failed' ? why.params : { provider, model: id, text };
}

/** @returns `why` as the model gave it; of a caller's own model, the text that it gave. */
function retryFacts({ attempt, delayMs, code, reason, why }: Extract<ModelEvent, { type: 'retry' }>) {
  return { attempt, delayMs, reason, why: why ?? failedMessage({ code, message: reason, details: {} }) };
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

function aborted({ reason }: AbortSignal): RepriseError {
  if (reason instanceof RepriseError) return reason;
  return failure('ABORTED', 'turn.stopped', {}, { cause: reason });
}

/** A model that ignores its signal is left behind: it may go on, but nobody waits for it. */
async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let leave: (reason: unknown) => void = () => undefined;
  const onAbort = (): void => leave(signal.reason);
  signal.addEventListener('abort', onAbort);
  let isOver = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        leave = reject;
        iterator.next().then(resolve, reject);
      });
      isOver = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not waited for: it may never answer.
    if (!isOver) void Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}
