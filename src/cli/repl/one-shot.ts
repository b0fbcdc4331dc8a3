import type { ModelFallbackEvent } from '../../engine/events.ts';
import type { Session } from '../../engine/session.ts';
import type { TurnResult } from '../../engine/turn/turn-stream.ts';
import { RepriseError } from '../../errors.ts';
import { failure, sameFailure } from '../../messages/failure.ts';
import { hasLinks } from '../markdown/links.ts';
import { MarkdownStream } from '../markdown/markdown-stream.ts';
import { fallbackText } from '../model-flag.ts';
import { NEXT_STEP } from '../next-step.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, hasColors, print, printJson, say } from '../terminal/print.ts';
import { withFiles } from './input-files.ts';

export interface OneShotOptions {
  /** Print one JSON object instead of the answer, or with `stream` one line per event. */
  readonly json: boolean;
  readonly stream: boolean;
  /** The text of the model as it is, also on a terminal. */
  readonly plain?: boolean;
  /** Moves a session that was created for this question to the trash. */
  readonly discard?: (() => Promise<unknown>) | undefined;
}

const INTERRUPTED_EXIT = 130;
const TALK_MS = 3000;

/** Checks the flags before anything is opened. */
export function checkOneShot({ prompt, json, stream }: Options): void {
  const flags = Object.entries({ '--json': json, '--stream': stream }).filter(([, value]) => value === true);
  if (prompt !== undefined || flags.length === 0) return;
  throw failure('INVALID_INPUT', 'cli.noPrompt', { options: flags.map(([name]) => name) });
}

export interface OneShotResult extends TurnResult {
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Undefined if another process ran the turn. */
  readonly model: string | undefined;
  readonly fallback: Pick<ModelFallbackEvent, 'wanted' | 'reason'> | undefined;
}

/** What `-p --json` prints, for a home and for a server. */
export function printResult(result: OneShotResult): void {
  const { sessionId, sessionKey, model, fallback, turnId, text, usage } = result;
  const instead = fallback === undefined ? {} : { fallback };
  printJson({ sessionId, sessionKey, model: model ?? null, ...instead, turnId, text, usage });
}

/** Prints the answer to one question and nothing else on stdout. Throws the error of a failed turn. */
export async function oneShot(session: Session, text: string, options: OneShotOptions): Promise<void> {
  const stop = new AbortController();
  const interrupt = (): void => (stop.signal.aborted ? process.exit(INTERRUPTED_EXIT) : stop.abort());
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const { id: sessionId, key: sessionKey } = session;
  const isLines = options.json && options.stream;
  const isTerminal = process.stdout.isTTY === true;
  const columns = (): number => (process.stdout.columns ?? 80) - 1;
  const markdown =
    isTerminal && options.plain !== true
      ? new MarkdownStream({ columns, links: hasLinks(), colors: hasColors() })
      : undefined;
  const shown = (part: string): string =>
    markdown?.take(part) ?? (isTerminal ? escapeForTerminal(part) : part);
  const turn = session.send(withFiles(text), { signal: stop.signal });
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
    // A pipe gets the exact answer; for a terminal, it is rendered and control characters are escaped.
    process.stdout.write(shown(event.text));
    written += event.text;
  }
  process.stdout.write(markdown?.end() ?? '');
  if (written !== '' && !written.endsWith('\n') && markdown === undefined) print('');
  const result = await turn.result.catch(async (error: unknown) => {
    if (!stop.signal.aborted) throw await withNext(error, session, options);
    process.exitCode = INTERRUPTED_EXIT;
    say('(stopped; the partial answer is kept)');
    return undefined;
  });
  if (result === undefined || isLines) return;
  if (options.json) printResult({ sessionId, sessionKey, model, fallback, ...result });
  // Another process ran the turn, so no deltas arrived here.
  else if (written === '' && result.text !== '')
    print(`${shown(result.text)}${markdown?.end() ?? ''}`.replace(/\n$/, ''));
}

/** Errors before the model read the question: the user fixes the cause and types the same command again. */
const NEVER_ASKED: ReadonlySet<string> = new Set(['MODEL_AUTH', 'MODEL_UNKNOWN']);

/** Adds a next step and the session to the error. If no model read the question, the session is discarded. */
async function withNext(error: unknown, { id }: Session, { discard }: OneShotOptions): Promise<unknown> {
  if (!(error instanceof RepriseError)) return error;
  const { code, details } = error;
  const hint = typeof details['next'] === 'string' ? details['next'] : NEXT_STEP[code];
  const isLeft = discard === undefined || !NEVER_ASKED.has(code);
  if (!isLeft) await discard().catch(() => undefined); // the session stays; report the original error
  const next = isLeft ? `${hint}\nThe question is stored: reprise -s ${id} continues there.` : hint;
  return sameFailure(error, { details: { ...details, next } });
}

/** The prompt, followed by text piped to stdin. */
export async function promptText(prompt: string | undefined, input: NodeJS.ReadStream): Promise<string> {
  const piped = input.isTTY === true ? '' : await readAll(input);
  const text = [prompt ?? '', piped.trimEnd()].filter((part) => part !== '').join('\n\n');
  if (text.trim() !== '') return text;
  throw failure('INVALID_INPUT', 'cli.noPrompt', { options: [] });
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  // A pipe that is not closed would look like a hanging program.
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
