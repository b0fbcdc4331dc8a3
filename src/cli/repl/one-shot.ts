import type { ModelFallbackEvent } from '../../engine/events.ts';
import type { Session } from '../../engine/session.ts';
import type { TurnResult } from '../../engine/turn/turn-stream.ts';
import { RepriseError } from '../../errors.ts';
import { fallbackText } from '../model-flag.ts';
import { NEXT_STEP } from '../next-step.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';

export interface OneShotOptions {
  /** One object instead of the answer, or with `stream` a line for each event. */
  readonly json: boolean;
  readonly stream: boolean;
  /** Moves a session that was made for this question to the trash. */
  readonly discard?: (() => Promise<unknown>) | undefined;
}

const INTERRUPTED_EXIT = 130;
const TALK_MS = 3000;

/** Before anything is opened. */
export function checkOneShot({ prompt, json, stream }: Options): void {
  if (prompt !== undefined || (json !== true && stream !== true)) return;
  throw new RepriseError('INVALID_INPUT', '--json and --stream are for a single question', {
    details: { next: 'Write: reprise -p "a question" --json' },
  });
}

export interface OneShotResult extends TurnResult {
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Unknown where another process ran the turn. */
  readonly model: string | undefined;
  readonly fallback: Pick<ModelFallbackEvent, 'wanted' | 'reason'> | undefined;
}

/** What `-p --json` prints, whoever answered: a home or a server. */
export function printResult(result: OneShotResult): void {
  const { sessionId, sessionKey, model, fallback, turnId, text, usage } = result;
  const instead = fallback === undefined ? {} : { fallback };
  printJson({ sessionId, sessionKey, model: model ?? null, ...instead, turnId, text, usage });
}

/** One question, one answer, and nothing else on stdout. Throws what the turn ended with. */
export async function oneShot(session: Session, text: string, options: OneShotOptions): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => (stop.signal.aborted ? process.exit(INTERRUPTED_EXIT) : stop.abort());
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const { id: sessionId, key: sessionKey } = session;
  const isLines = options.json && options.stream;
  const isTerminal = process.stdout.isTTY === true;
  const turn = session.send({ text }, { signal: stop.signal });
  if (isLines) printJson({ type: 'session', sessionId, sessionKey });
  let model: string | undefined;
  let fallback: OneShotResult['fallback'];
  let written = '';
  for await (const event of turn) {
    if (isLines) printJson(event);
    if (event.type === 'turn_start') model = event.model;
    if (event.type === 'model_fallback') {
      const { wanted, reason } = event;
      ({ model } = event);
      fallback = { wanted, reason };
      say(escapeForTerminal(fallbackText(event)));
    }
    if (event.type !== 'text_delta' || options.json) continue;
    // A program gets the answer as it was given; a terminal must not act on it.
    process.stdout.write(isTerminal ? escapeForTerminal(event.text) : event.text);
    written += event.text;
  }
  if (written !== '' && !written.endsWith('\n')) print('');
  const result = await turn.result.catch(async (error: unknown) => {
    if (!stop.signal.aborted) throw await withNext(error, session, options);
    process.exitCode = INTERRUPTED_EXIT;
    say('(stopped; what arrived is kept)');
    return undefined;
  });
  if (result === undefined || isLines) return;
  if (options.json) printResult({ sessionId, sessionKey, model, fallback, ...result });
  // Another process ran the turn, and no deltas came from there.
  else if (written === '' && result.text !== '')
    print(isTerminal ? escapeForTerminal(result.text) : result.text);
}

/** Refused before a model read the question: after the repair the same command is typed again. */
const NEVER_ASKED: ReadonlySet<string> = new Set(['MODEL_AUTH', 'MODEL_UNKNOWN']);

/** The hint of the error, and where the question is. A try that no model heard leaves no session. */
async function withNext(error: unknown, { id }: Session, { discard }: OneShotOptions): Promise<unknown> {
  if (!(error instanceof RepriseError)) return error;
  const { code, message, why, details, outcome } = error;
  const hint = typeof details['next'] === 'string' ? details['next'] : NEXT_STEP[code];
  const isLeft = discard === undefined || !NEVER_ASKED.has(code);
  if (!isLeft) await discard().catch(() => undefined); // then it stays; the error is what matters
  const next = isLeft ? `${hint}\nThe question is stored: reprise -s ${id} continues there.` : hint;
  return new RepriseError(code, message, { why, details: { ...details, next }, outcome, cause: error });
}

/** The prompt, and behind it what was piped in. */
export async function promptText(prompt: string | undefined, input: NodeJS.ReadStream): Promise<string> {
  const piped = input.isTTY === true ? '' : await readAll(input);
  const text = [prompt ?? '', piped.trimEnd()].filter((part) => part !== '').join('\n\n');
  if (text.trim() !== '') return text;
  throw new RepriseError('INVALID_INPUT', 'there is nothing to ask', {
    details: { next: 'Write: reprise -p "a question", or pipe one in.' },
  });
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  // A pipe that somebody forgot to close looks like a program that hangs.
  const talk = setTimeout(() => say('Reading standard input until it ends …'), TALK_MS);
  try {
    input.setEncoding('utf8');
    let text = '';
    for await (const chunk of input) text += String(chunk);
    return text;
  } finally {
    clearTimeout(talk);
  }
}
