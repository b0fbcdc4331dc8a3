import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';

/** Control characters in a typed line. The editor never writes them itself and gives them no width. */
const ACTING = /[\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * The output of the line editor, shown or hidden. While an answer streams, the editor keeps reading keys with its
 * output hidden, so that typed text is not lost and does not mix with the answer.
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

  /** While hidden there is no line width: otherwise the editor would count rows that are not on the screen. */
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
