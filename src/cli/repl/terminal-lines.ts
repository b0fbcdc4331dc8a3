import { createInterface, emitKeypressEvents, type Interface, type Key } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { escapeForTerminal } from '../terminal/print.ts';
import type { Completions } from './completions.ts';
import { Curtain } from './curtain.ts';
import { HistorySearch } from './history-search.ts';
import type { InputHistory } from './input-history.ts';
import { isYes, type LineSource } from './line-source.ts';
import { BREAK, PastedText } from './pasted-text.ts';

export interface TerminalLinesOptions {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly history: InputHistory;
  readonly complete: (line: string) => Promise<Completions>;
  /** Called with a message typed while an answer streams. If it returns false, the message waits in this class. */
  readonly onMeanwhile: (message: string) => boolean;
  /** Ctrl-C, always; Esc, unless a question is open. */
  readonly onInterrupt: (key: 'ctrl-c' | 'escape') => void;
  /** A key was typed while an answer streams. */
  readonly onTyped?: () => void;
  /** The up key in an empty line while an answer streams. @returns a queued message to edit, which is not sent. */
  readonly onWithdraw?: () => Promise<string | undefined>;
}

const PROMPT = '> ';
const AGAIN = '(Press Ctrl-C again to exit.)';
const MORE_PROMPT = '… ';
/** Bracketed paste: the terminal marks pasted text. */
const PASTE_ON = '\u001b[?2004h';
const PASTE_OFF = '\u001b[?2004l';
const C1 = /[\u0080-\u009f]/;
const BELL = '\u0007';

/**
 * Reads lines that a user types. Readline does the editing but receives its keys from here, because some keys are
 * handled first: a paste is one message, Esc and Ctrl-C act on the turn, and Alt-Enter starts a new line in the
 * message.
 */
export class TerminalLines implements LineSource {
  readonly #options: TerminalLinesOptions;
  readonly #curtain: Curtain;
  readonly #readline: Interface;
  readonly #pasted = new PastedText();
  readonly #onKey = (text: string | undefined, key: Key): void => this.#key(text, key);
  readonly #onEnd = (): void => this.close();
  /** Finished lines that were not read yet. */
  readonly #ready: string[] = [];
  /** The earlier lines of the message that is being edited. */
  #above: string[] = [];
  #goesOn = false;
  #paste: string | undefined;
  #search: HistorySearch | undefined;
  #waiting: ((line: string | undefined) => void) | undefined;
  #answer: ((line: string | undefined) => void) | undefined;
  #isClosed = false;
  /** The last key was Ctrl-C at an empty prompt. */
  #isExitArmed = false;

  constructor(options: TerminalLinesOptions) {
    this.#options = options;
    const { input, output, history, complete } = options;
    this.#curtain = new Curtain(output);
    this.#readline = createInterface({
      input: new PassThrough(), // keys arrive through `write`
      output: this.#curtain,
      terminal: true,
      prompt: PROMPT,
      history: history.entries,
      historySize: Number.MAX_SAFE_INTEGER,
      completer: (line: string, done: (error: Error | null, found: [string[], string]) => void) => {
        // If the sessions cannot be listed, offer no completions instead of an error.
        const nothing = (): Completions => [[], line];
        void complete(line)
          .catch(nothing)
          .then(([found, part]) => done(null, [[...found], part]));
      },
    });
    this.#readline.on('line', (line) => this.#line(line));
    this.#readline.on('close', () => this.close());
    emitKeypressEvents(input);
    input.on('keypress', this.#onKey);
    input.on('end', this.#onEnd);
    input.on('error', this.#onEnd); // the terminal was closed
    this.#raw(true);
    input.resume();
  }

  get isAsking(): boolean {
    return this.#answer !== undefined;
  }

  get unread(): readonly string[] {
    return this.#ready;
  }

  /** What is typed while the prompt is hidden. */
  get typed(): string {
    return this.#curtain.isOpen ? '' : [...this.#above, this.#readline.line].join(BREAK);
  }

  /** Puts a message that was not sent before what is typed. */
  restore(message: string): void {
    if (this.#isClosed) return;
    const typed = [...this.#above, this.#readline.line].join(BREAK);
    this.#above = [];
    this.#readline.setPrompt(PROMPT);
    this.#replace([this.#pasted.fold(message), typed].filter((part) => part !== '').join(BREAK));
    this.#options.onTyped?.();
  }

  async next(): Promise<string | undefined> {
    const line = this.#ready.shift();
    if (line !== undefined) {
      // It was typed while the prompt was hidden, so print it now.
      this.#options.output.write(`${PROMPT}${escapeForTerminal(line)}\n`);
      return line;
    }
    if (this.#isClosed) return undefined;
    this.#show();
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Discards keys typed before the question appeared, so that they do not answer it. */
  async confirm(question: string): Promise<boolean> {
    if (this.#isClosed) return false;
    const before = this.#readline.line;
    this.#replace('');
    this.#readline.setPrompt(`${escapeForTerminal(question)} [y/N] `);
    this.#show();
    const answer = await new Promise<string | undefined>((resolve) => {
      this.#answer = resolve;
    });
    this.#answer = undefined;
    this.#hide();
    if (this.#isClosed) return false;
    this.#readline.setPrompt(this.#above.length > 0 ? MORE_PROMPT : PROMPT);
    this.#replace(before);
    return isYes(answer);
  }

  /** Clears the typed text. At an empty prompt the first Ctrl-C warns and the second leaves the chat. */
  interrupt(): void {
    if (this.#answer !== undefined) {
      this.#curtain.write('\n');
      this.#answer(undefined);
    } else if (this.#readline.line === '' && this.#above.length === 0 && this.#isExitArmed) this.close();
    else {
      const isEmpty = this.#readline.line === '' && this.#above.length === 0;
      this.#above = [];
      this.#readline.setPrompt(PROMPT);
      this.#readline.write(null, { ctrl: true, name: 'e' });
      this.#curtain.write('\n');
      this.#hide();
      this.#replace('');
      if (isEmpty) this.#options.output.write(`${AGAIN}\n`);
      this.#isExitArmed = isEmpty;
      this.#show();
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { input, output } = this.#options;
    // Start the next output on a new line.
    if (this.#curtain.isOpen) output.write('\n');
    input.off('keypress', this.#onKey);
    input.off('end', this.#onEnd);
    this.#raw(false);
    input.pause();
    this.#readline.close();
    this.#curtain.destroy();
    this.#answer?.(undefined);
    this.#waiting?.(undefined);
  }

  #key(text: string | undefined, key: Key): void {
    const { name, ctrl = false, meta = false, sequence = '' } = key;
    if (this.#paste !== undefined) {
      if (name === 'paste-end') this.#pasteEnd(this.#paste);
      else this.#paste += sequence;
      return;
    }
    if (!(ctrl && name === 'c')) this.#isExitArmed = false;
    if (this.#search !== undefined && this.#searchKey(this.#search, text, key)) return;
    if (name === 'paste-start') this.#paste = '';
    else if (ctrl && name === 'c') this.#options.onInterrupt('ctrl-c');
    else if (name === 'escape') this.#options.onInterrupt('escape');
    else if (ctrl && name === 'z') this.#stop();
    else if (ctrl && name === 'r' && this.#answer === undefined) this.#searchBack();
    else if (meta && (name === 'return' || name === 'enter')) this.#breakLine();
    else if (name === 'up' && this.#isHiddenAndEmpty) this.#withdraw();
    // As in a paste, control characters are not part of a message.
    else if (!C1.test(text ?? '')) this.#readline.write(text ?? null, key);
    if (!this.#curtain.isOpen) this.#options.onTyped?.();
  }

  get #isHiddenAndEmpty(): boolean {
    return !this.#curtain.isOpen && this.#readline.line === '' && this.#above.length === 0;
  }

  #withdraw(): void {
    void this.#options.onWithdraw?.().then((message) => {
      if (message !== undefined) this.restore(message);
    });
  }

  #pasteEnd(pasted: string): void {
    this.#paste = undefined;
    this.#readline.write(this.#pasted.fold(pasted));
  }

  /** Alt-Enter: starts a new line at the end of the text; in the middle it inserts a line break mark. */
  #breakLine(): void {
    if (this.#readline.cursor < this.#readline.line.length) {
      this.#readline.write(BREAK);
      return;
    }
    this.#goesOn = true;
    this.#readline.write(null, { name: 'return' });
    this.#goesOn = false;
  }

  #line(line: string): void {
    const { history, onMeanwhile } = this.#options;
    // Readline remembers single lines; the history holds whole messages.
    if (history.entries[0] === line) history.entries.shift();
    if (this.#answer !== undefined) {
      this.#answer(line);
      return;
    }
    const isEscaped = /(?:^|[^\\])(?:\\\\)*\\$/.test(line);
    if (this.#goesOn || isEscaped) {
      this.#above.push(this.#goesOn ? line : line.slice(0, -1));
      this.#readline.setPrompt(MORE_PROMPT);
      if (this.#curtain.isOpen) this.#readline.prompt();
      return;
    }
    const typed = [...this.#above, line].join(BREAK);
    this.#above = [];
    this.#readline.setPrompt(PROMPT);
    if (!this.#pasted.hasFolded(typed)) history.add(typed);
    const message = this.#pasted.unfold(typed);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) {
      this.#hide();
      waiting(message);
    } else if (this.#ready.length > 0 || !onMeanwhile(message)) this.#ready.push(message);
  }

  #searchBack(): void {
    const { line } = this.#readline;
    this.#search = new HistorySearch(this.#options.history.entries, line);
    this.#showSearch(this.#search, line === '' || this.#search.older());
  }

  /** @returns true if the search used the key. Any other key accepts the found line and is then handled as usual. */
  #searchKey(
    search: HistorySearch,
    text: string | undefined,
    { name, ctrl = false, meta = false }: Key,
  ): boolean {
    const isTyped = text !== undefined && text >= ' ' && text !== '\u007f' && !ctrl && !meta;
    let isFound = true;
    if (ctrl && name === 'r') isFound = search.older();
    else if (ctrl && name === 'g') {
      this.#endSearch();
      this.#replace(search.before);
      return true;
    } else if (name === 'backspace') isFound = search.look(search.wanted.slice(0, -1));
    else if (isTyped) isFound = search.look(search.wanted + text);
    else {
      this.#endSearch();
      return false;
    }
    this.#showSearch(search, isFound);
    return true;
  }

  #showSearch(search: HistorySearch, isFound: boolean): void {
    this.#readline.setPrompt(`search "${search.wanted}": `);
    this.#replace(search.found ?? search.before);
    this.#readline.prompt(true);
    if (!isFound) this.#curtain.write(BELL);
  }

  #endSearch(): void {
    this.#search = undefined;
    this.#readline.setPrompt(this.#above.length > 0 ? MORE_PROMPT : PROMPT);
    this.#readline.prompt(true);
  }

  #replace(line: string): void {
    this.#readline.write(null, { ctrl: true, name: 'e' });
    this.#readline.write(null, { ctrl: true, name: 'u' });
    if (line !== '') this.#readline.write(line);
  }

  #show(): void {
    this.#readline.prompt(true); // still hidden; this resets the editor's row count
    this.#curtain.isOpen = true;
    this.#readline.prompt(true);
  }

  #hide(): void {
    this.#curtain.isOpen = false;
  }

  #raw(isRaw: boolean): void {
    const { input, output } = this.#options;
    output.write(isRaw ? PASTE_ON : PASTE_OFF);
    // The mode of a closed terminal cannot be set.
    if (!input.destroyed) input.setRawMode(isRaw);
  }

  /** Ctrl-Z: restores the terminal mode for the shell. */
  #stop(): void {
    this.#raw(false);
    process.once('SIGCONT', () => {
      if (this.#isClosed) return;
      this.#raw(true);
      if (!this.#curtain.isOpen) return;
      // The shell has printed meanwhile, so draw the prompt again.
      this.#hide();
      this.#show();
    });
    process.kill(process.pid, 'SIGTSTP');
  }
}
