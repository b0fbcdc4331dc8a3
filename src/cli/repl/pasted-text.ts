/** Stands for a line break while a message is edited: the editor knows one line only. */
export const BREAK = '␤';

const MAX_LINES = 8;
const MAX_CHARS = 500;
/** Sequences and controls a terminal would act on; tabs and line breaks stay. */
const CONTROLS = /\u001b(?:\[[0-?]*[ -/]*[@-~]|[@-_]?)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * What was pasted, as it stands in the line that is edited. A few lines stand there with marks for their breaks; more
 * would not fit the screen, so a word stands for them until the message is sent.
 */
export class PastedText {
  readonly #folded: Map<string, string> = new Map();

  fold(pasted: string): string {
    const text = pasted.replace(/\r\n?/g, '\n').replace(CONTROLS, '');
    // A break at the end ends the last line and begins no other.
    const lines = text.replace(/\n$/, '').split('\n').length;
    if (lines <= MAX_LINES && text.length <= MAX_CHARS) return text.replaceAll('\n', BREAK);
    const word = `[paste ${this.#folded.size + 1}: ${lines === 1 ? `${text.length} characters` : `${lines} lines`}]`;
    this.#folded.set(word, text);
    return word;
  }

  hasFolded(line: string): boolean {
    return [...this.#folded.keys()].some((word) => line.includes(word));
  }

  /** The message as it was meant. */
  unfold(line: string): string {
    let text = line.replaceAll(BREAK, '\n');
    for (const [word, pasted] of this.#folded) text = text.split(word).join(pasted);
    return text;
  }
}
