import { oneLine } from '../../engine/commands/command-context.ts';
import type { TurnEvent } from '../../engine/events.ts';
import { count, counted } from '../../messages/english-format.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { escapeForTerminal, style } from '../terminal/print.ts';
import { Tint } from './tint.ts';

export interface TurnViewOptions {
  readonly out: NodeJS.WritableStream;
  readonly talk: NodeJS.WritableStream;
  /** The output is a terminal: only then a status line is shown and erased again. */
  readonly isLive: boolean;
}

type ToolCall = Extract<TurnEvent, { type: 'tool_call' }>;
type ToolResult = Extract<TurnEvent, { type: 'tool_result' }>;

const MAX_ARGUMENTS = 60;
const MAX_DOING = 72;
const ERASE_LINE = '\r\u001b[K';

/** Shows a turn: the text as it streams, everything else in one line each. */
export class TurnView {
  readonly #options: TurnViewOptions;
  readonly #tint: Tint = new Tint((format, text) => style(format, text));
  readonly #calls: Map<string, ToolCall> = new Map();
  readonly #notes: string[] = [];
  #isLineStart = true;
  #isDoing = false;

  constructor(options: TurnViewOptions) {
    this.#options = options;
  }

  show(event: TurnEvent): void {
    switch (event.type) {
      case 'text_delta':
        this.#text(event.text);
        break;
      case 'thinking_delta':
        this.#doing('thinking');
        break;
      case 'tool_call':
        this.#calls.set(event.id, event);
        this.#doing(callText(event));
        break;
      case 'tool_progress':
        this.#doing(`${event.name}: ${event.text}`);
        break;
      case 'tool_result':
        this.#say(resultText(this.#calls.get(event.id), event));
        break;
      case 'retry':
        this.#say(`(${event.reason}; retry in ${seconds(event.delayMs)})`);
        break;
      case 'queued':
        this.#say(`(queued; messages before it: ${count(event.position)})`);
        break;
      case 'compaction':
        this.#say(`(compacted: ~${count(event.tokensBefore)} -> ~${count(event.tokensAfter)} tokens)`);
        break;
      case 'context_truncated':
        this.#say(
          `(shortened ${counted(event.results, 'tool result')}, ~${count(event.tokensSaved)} tokens)`,
        );
        break;
      case 'overflow':
        this.#say('(the context did not fit; trying again with less)');
        break;
      default:
    }
  }

  /** Prints a notice at the next point where it does not split the answer. */
  note(text: string): void {
    this.#notes.push(text);
    if (!this.#isLineStart) return;
    this.#undo();
    this.#tellNotes();
  }

  /** Afterwards the cursor is at the start of a line. */
  end(): void {
    this.#write(this.#tint.end());
    this.#freshLine();
    this.#calls.clear();
  }

  #text(text: string): void {
    this.#write(this.#tint.take(text));
  }

  #write(text: string): void {
    if (text === '') return;
    this.#undo();
    this.#options.out.write(text);
    this.#isLineStart = text.endsWith('\n');
    if (this.#isLineStart) this.#tellNotes();
  }

  #say(text: string): void {
    this.#write(this.#tint.end());
    this.#freshLine();
    this.#options.talk.write(`${style('dim', escapeForTerminal(text))}\n`);
  }

  #freshLine(): void {
    this.#undo();
    if (!this.#isLineStart) this.#options.out.write('\n');
    this.#isLineStart = true;
    this.#tellNotes();
  }

  #tellNotes(): void {
    for (const note of this.#notes.splice(0))
      this.#options.talk.write(`${style('dim', escapeForTerminal(note))}\n`);
  }

  /** A status line, shown until there is output, and never in the middle of the answer. */
  #doing(what: string): void {
    if (!this.#options.isLive) return;
    this.#write(this.#tint.end());
    this.#freshLine();
    this.#options.talk.write(style('dim', `… ${oneLine(escapeForTerminal(what), MAX_DOING)}`));
    this.#isDoing = true;
  }

  #undo(): void {
    if (this.#isDoing) this.#options.talk.write(ERASE_LINE);
    this.#isDoing = false;
  }
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
