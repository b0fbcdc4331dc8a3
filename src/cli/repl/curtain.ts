import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';

/** Characters of a typed line that a terminal acts on. The editor itself writes none of them, and counts no width for them. */
const ACTING = /[\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * What the line editor draws, shown or not. While an answer streams the editor goes on taking keys behind the curtain,
 * so what is typed meanwhile neither gets lost nor comes between the words of the answer.
 */
export class Curtain extends Writable {
  readonly #terminal: WriteStream;
  readonly #onResize = (): boolean => this.emit('resize');
  isOpen: boolean = false;

  constructor(terminal: WriteStream) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
    terminal.on('resize', this.#onResize);
  }

  /** Behind the curtain a line is never too long: the editor must not believe that it filled rows nobody saw. */
  get columns(): number | undefined {
    return this.isOpen ? this.#terminal.columns : undefined;
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    if (this.isOpen) this.#terminal.write(text.replace(ACTING, ''));
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#terminal.off('resize', this.#onResize);
    done(error);
  }
}
