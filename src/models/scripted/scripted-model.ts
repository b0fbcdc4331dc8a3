import { setTimeout as sleep } from 'node:timers/promises';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { StopReason, Usage } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { ProviderFamily } from '../../transcript/render/target.ts';
import { Answer } from '../answer.ts';
import type { Model, ModelEvent, ModelRequest, ModelStreamOptions } from '../model.ts';
import { abortedError, modelError } from '../model-error.ts';
import { usageOf } from '../usage.ts';

/** The result of one model call. Its parts come in this order: wait, thinking, text, calls, error or finish. */
export interface ScriptedAnswer {
  /**
   * Milliseconds, or until a promise of the test resolves, so that no test has to sleep to be in the middle of a
   * call.
   */
  readonly wait?: number | Promise<unknown>;
  readonly thinking?: { readonly text: string; readonly signature?: string; readonly redacted?: boolean };
  /** Each element of a list is sent as one delta. */
  readonly text?: string | readonly string[];
  readonly calls?: readonly ScriptedCall[];
  /** Thrown after everything above, so the previous parts are a partial answer. */
  readonly error?: Error;
  readonly stopReason?: StopReason;
  readonly usage?: Usage;
}

export interface ScriptedCall {
  /** Unset: `call_<number of the request>_<index>`. */
  readonly id?: string;
  readonly name: string;
  readonly input?: JsonObject;
  readonly rawArguments?: string;
}

/** A string is an answer with that text; a function reads the request first. */
export type ScriptedStep =
  | string
  | Error
  | ScriptedAnswer
  | ((request: ModelRequest, index: number) => ScriptedStep | Promise<ScriptedStep>);

export interface ScriptedModelOptions {
  readonly id?: string;
  readonly provider?: string;
  readonly api?: string;
  readonly family?: ProviderFamily;
  readonly contextWindow?: number;
  readonly maxOutput?: number;
  /** A provider's rules; a request with complaints fails like a 400. */
  readonly validate?: (request: ModelRequest) => readonly { readonly message: string }[];
}

export interface ScriptedModel extends Model {
  /** Every request so far, including failed ones. */
  readonly requests: readonly ModelRequest[];
  push(...steps: readonly ScriptedStep[]): void;
  /** Throws if steps are left over, if calls came without a step, or if a request broke a rule. */
  assertDone(): void;
}

const NO_USAGE: Usage = usageOf({ input: 0, output: 0 });

/** A model that plays a script, for tests: deterministic to the event, and strict about its requests. */
export function createScriptedModel(
  script: readonly ScriptedStep[] = [],
  {
    id = 'scripted',
    provider = 'scripted',
    api = 'scripted',
    family = 'generic',
    contextWindow,
    maxOutput,
    validate = () => [],
  }: ScriptedModelOptions = {},
): ScriptedModel {
  const steps = [...script];
  const requests: ModelRequest[] = [];
  const complaints: string[] = [];

  const refuse = (message: string): RepriseError => {
    complaints.push(message);
    return modelError({ status: 400, codes: ['invalid_request_error'], message }, model, 0);
  };

  async function* stream(
    request: ModelRequest,
    { signal }: ModelStreamOptions = {},
  ): AsyncGenerator<ModelEvent, void, undefined> {
    if (signal?.aborted) throw abortedError(model, signal);
    const index = requests.push(structuredClone(request)) - 1;
    const [violation] = validate(request);
    if (violation !== undefined) throw refuse(`request ${index}: ${violation.message}`);
    let step = steps.shift();
    if (step === undefined) throw refuse(`request ${index} was not expected: the script has no step left`);
    while (typeof step === 'function') step = await step(request, index);
    if (step instanceof Error) throw step;
    const answer = new Answer();
    for await (const event of events(typeof step === 'string' ? { text: step } : step, index, signal)) {
      if (signal?.aborted) throw abortedError(model, signal);
      answer.take(event);
      yield event;
    }
    if (signal?.aborted) throw abortedError(model, signal);
    const { calls = [], usage = NO_USAGE, ...rest } = typeof step === 'string' ? {} : step;
    const { stopReason = calls.length > 0 ? 'toolUse' : 'stop' } = rest;
    yield answer.finish(model, { stopReason, usage });
  }

  const model: ScriptedModel = {
    id,
    provider,
    api,
    target: { family, provider, model: id },
    ...(contextWindow !== undefined && { contextWindow }),
    ...(maxOutput !== undefined && { maxOutput }),
    stream,
    requests,
    push: (...more) => {
      steps.push(...more);
    },
    assertDone: () => {
      if (complaints.length > 0 || steps.length > 0)
        throw failure('INVALID_INPUT', 'model.scriptUnmet', { complaints, stepsLeft: steps.length });
    },
  };
  return model;
}

async function* events(
  { wait, thinking, text = [], calls = [], error }: ScriptedAnswer,
  index: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ModelEvent, void, undefined> {
  if (wait !== undefined) await pause(wait, signal);
  let block = 0;
  if (thinking !== undefined) yield { type: 'thinking_delta', block: block++, ...thinking };
  const deltas = typeof text === 'string' ? [text] : text;
  for (const delta of deltas) if (delta !== '') yield { type: 'text_delta', block, text: delta };
  for (const [i, { id = `call_${index}_${i}`, name, input = {}, rawArguments }] of calls.entries()) {
    const raw = rawArguments === undefined ? {} : { rawArguments };
    yield { type: 'tool_call', block: block + 1 + i, id, name, input, ...raw };
  }
  if (error !== undefined) throw error;
}

/** Ends early on abort, whatever it waits for. */
async function pause(wait: number | Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  const over = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
    if (signal?.aborted) resolve();
  });
  const waited =
    typeof wait === 'number' ? sleep(wait, undefined, { signal: over.signal }).catch(() => {}) : wait;
  await Promise.race([waited, stopped]);
  over.abort();
}
