import type { WriteStream } from 'node:tty';
import { oneLine } from '../../engine/commands/command-context.ts';
import type { TurnEvent } from '../../engine/events.ts';
import { count, counted } from '../../messages/english-format.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { hasLinks } from '../markdown/links.ts';
import { MarkdownStream } from '../markdown/markdown-stream.ts';
import { color } from '../terminal/colors.ts';
import { Footer } from '../terminal/footer.ts';
import { escapeForTerminal, hasColors } from '../terminal/print.ts';
import { duration } from '../terminal/progress.ts';
import { eraseTransient } from '../terminal/transient.ts';
import { fitWidth, widthOf } from '../terminal/width.ts';

export interface TurnViewOptions {
  readonly out: NodeJS.WritableStream & Partial<Pick<WriteStream, 'columns'>>;
  readonly talk: NodeJS.WritableStream & Partial<Pick<WriteStream, 'columns' | 'rows'>>;
  /** The output is a terminal: only then lines below the answer are shown and erased again. */
  readonly isLive: boolean;
  /** The text of the model as it is, for pipes and --plain. */
  readonly isPlain?: boolean;
  /** What the user types while the answer streams. */
  readonly typed?: () => string;
  /** Messages that wait for the running turn. */
  readonly queued?: () => readonly string[];
}

type ToolCall = Extract<TurnEvent, { type: 'tool_call' }>;
type ToolResult = Extract<TurnEvent, { type: 'tool_result' }>;
type Retry = Extract<TurnEvent, { type: 'retry' }>;

const MAX_ARGUMENTS = 60;
const MAX_QUEUED = 3;
const FRAME_MS = 100;
const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
/** A word of English has a little more; the true count comes with the end of the call. */
const CHARS_PER_TOKEN = 4;

/** Shows a turn: its text as Markdown while it streams, everything else in one line each, and below it what happens. */
export class TurnView {
  readonly #options: TurnViewOptions;
  readonly #markdown: MarkdownStream | undefined;
  readonly #footer: Footer;
  readonly #calls: Map<string, ToolCall> = new Map();
  readonly #notes: string[] = [];
  #isLineStart = true;
  #timer: ReturnType<typeof setInterval> | undefined;
  #since = 0;
  #doing = '';
  #chars = 0;
  #tokens = 0;
  #retry: { readonly reason: string; readonly attempt: number; readonly until: number } | undefined;

  constructor(options: TurnViewOptions) {
    this.#options = options;
    const { out, talk, isPlain = false } = options;
    this.#footer = new Footer({
      write: (text: string) => talk.write(text),
      get columns() {
        return talk.columns ?? 80;
      },
      get rows() {
        return talk.rows ?? 24;
      },
    } as Pick<WriteStream, 'write' | 'columns' | 'rows'>);
    // The last column stays free: a terminal that is about to wrap could lose what stands there.
    const columns = (): number => (out.columns ?? Number.POSITIVE_INFINITY) - 1;
    this.#markdown = isPlain
      ? undefined
      : new MarkdownStream({ columns, links: hasLinks(), colors: hasColors() });
  }

  /** A message was sent, and its turn will show something soon. */
  begin(): void {
    if (!this.#options.isLive || this.#timer !== undefined) return;
    this.#since = performance.now();
    this.#chars = 0;
    this.#tokens = 0;
    this.#doing = 'waiting for the model';
    this.#timer = setInterval(() => this.refresh(), FRAME_MS);
    this.#timer.unref();
  }

  /** Draws the lines below the answer again, such as after a key. */
  refresh(): void {
    if (this.#timer !== undefined) this.#footer.draw(this.#footerLines(), this.#isLineStart);
  }

  show(event: TurnEvent): void {
    if (event.type !== 'retry' && event.type !== 'accepted') this.#retry = undefined;
    switch (event.type) {
      case 'turn_start':
        this.#doing = 'waiting for the model';
        break;
      case 'text_delta':
        this.#doing = 'answering';
        this.#chars += event.text.length;
        this.#text(event.text);
        break;
      case 'thinking_delta':
        this.#chars += event.text.length;
        this.#doing = 'thinking';
        break;
      case 'tool_call':
        this.#calls.set(event.id, event);
        this.#endText();
        this.#doing = `running ${callText(event)}`;
        break;
      case 'tool_progress':
        this.#doing = `${event.name}: ${oneLine(event.text, MAX_ARGUMENTS)}`;
        break;
      case 'tool_result':
        this.#printLine(event.isError ? 'error' : 'tool', resultText(this.#calls.get(event.id), event));
        this.#doing = 'waiting for the model';
        break;
      case 'usage':
        this.#tokens += event.usage.output;
        this.#chars = 0;
        break;
      case 'retry':
        this.#showRetry(event);
        break;
      case 'queued':
        this.#notice(`(queued; messages before it: ${count(event.position)})`);
        break;
      case 'compaction_start':
        this.#doing = 'compacting older messages';
        break;
      case 'compaction':
        this.#notice(`(compacted: ~${count(event.tokensBefore)} -> ~${count(event.tokensAfter)} tokens)`);
        break;
      case 'context_truncated':
        this.#notice(
          `(shortened ${counted(event.results, 'tool result')}, ~${count(event.tokensSaved)} tokens)`,
        );
        break;
      case 'overflow':
        this.#notice('(the context did not fit; trying again with less)');
        break;
      default:
    }
    this.refresh();
  }

  /** Prints a notice at the next point where it does not split the answer. */
  note(text: string): void {
    this.#notes.push(color('notice', escapeForTerminal(text)));
    if (this.#isLineStart) this.#printNotes();
  }

  /** Prints a message of the user that is answered now and was typed during the turn before. */
  echo(text: string): void {
    this.#endText();
    const lines = escapeForTerminal(text).split('\n');
    for (const [i, line] of lines.entries())
      this.#write(this.#options.talk, `${color('user', i === 0 ? '> ' : '… ')}${line}\n`);
  }

  /** Afterwards the cursor is at the start of a line, and nothing is drawn below it. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#retry = undefined;
    this.#endText();
    this.#footer.erase();
    this.#calls.clear();
  }

  #text(text: string): void {
    this.#answer(this.#markdown?.take(text) ?? escapeForTerminal(text));
  }

  #endText(): void {
    this.#answer(this.#markdown?.end() ?? '');
    if (!this.#isLineStart) this.#write(this.#options.out, '\n');
    this.#isLineStart = true;
    this.#printNotes();
  }

  #answer(text: string): void {
    if (text === '') return;
    this.#write(this.#options.out, text);
    this.#isLineStart = text.endsWith('\n');
    if (this.#isLineStart) this.#printNotes();
  }

  #notice(text: string): void {
    this.#printLine('notice', text);
  }

  #printLine(meaning: 'notice' | 'tool' | 'error', text: string): void {
    this.#endText();
    this.#write(this.#options.talk, `${color(meaning, escapeForTerminal(text))}\n`);
  }

  #printNotes(): void {
    for (const note of this.#notes.splice(0)) this.#write(this.#options.talk, `${note}\n`);
  }

  #write(stream: NodeJS.WritableStream, text: string): void {
    eraseTransient();
    stream.write(text);
  }

  #showRetry({ reason, attempt, delayMs }: Retry): void {
    this.#notice(`(${reason}; retry in ${duration(delayMs / 1000)})`);
    this.#retry = { reason, attempt, until: performance.now() + delayMs };
  }

  #footerLines(): string[] {
    const { typed, queued } = this.#options;
    const now = performance.now();
    const waiting = queued?.() ?? [];
    const lines = [color('notice', this.#statusLine(now))];
    for (const text of waiting.slice(0, MAX_QUEUED))
      lines.push(color('notice', `  queued: ${escapeForTerminal(oneLine(text, 200))}`));
    if (waiting.length > MAX_QUEUED)
      lines.push(color('notice', `  and ${count(waiting.length - MAX_QUEUED)} more`));
    const text = typed?.() ?? '';
    if (text !== '')
      lines.push(`${color('user', '> ')}${tail(escapeForTerminal(text), this.#columns() - 4)}`);
    return lines;
  }

  #columns(): number {
    return this.#options.talk.columns ?? 80;
  }

  #statusLine(now: number): string {
    const spinner = SPINNER[Math.floor(now / FRAME_MS) % SPINNER.length];
    const retry = this.#retry;
    const doing =
      retry === undefined
        ? this.#doing
        : `retrying in ${duration(Math.max(0, (retry.until - now) / 1000))} (attempt ${retry.attempt})`;
    const tokens = this.#tokens + Math.round(this.#chars / CHARS_PER_TOKEN);
    const parts = [
      duration(Math.max(0, (now - this.#since) / 1000)),
      ...(tokens === 0 ? [] : [`~${counted(tokens, 'token')}`]),
      ...((this.#options.queued?.() ?? []).length === 0 ? [] : ['↑ edits queued messages']),
      'Ctrl-C to stop',
    ];
    const facts = parts.join(' · ');
    const what = fitWidth(escapeForTerminal(doing), Math.max(8, this.#columns() - widthOf(facts) - 6));
    return `${spinner} ${what} · ${facts}`;
  }
}

/** The end of a typed text that fits a width. */
function tail(text: string, columns: number): string {
  const line = text.replaceAll('\n', '␤');
  return line.length <= columns ? line : `…${line.slice(1 - columns)}`;
}

function callText({ name, input }: { readonly name: string; readonly input: JsonObject }): string {
  const args = Object.entries(input).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${name}(${oneLine(args.join(', '), MAX_ARGUMENTS)})`;
}

function resultText(call: ToolCall | undefined, { name, isError, text, durationMs }: ToolResult): string {
  const how = isError ? `error: ${oneLine(text, MAX_ARGUMENTS)}` : 'ok';
  return `${callText(call ?? { name, input: {} })} ${how}, ${seconds(durationMs)}`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
