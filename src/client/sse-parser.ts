import { clientFailure } from './client-failure.ts';

export interface SseMessage {
  /** The last id received, also if this message has none. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/** Protects the client's memory from a server that never ends a message. */
const MAX_MESSAGE_CHARS = 64 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/g;

/** Parses an event stream incrementally: any line endings, a BOM, and characters split between chunks. */
export class SseParser {
  /** Removes a BOM, and replaces invalid UTF-8 with U+FFFD as the standard requires. */
  readonly #decoder: InstanceType<typeof TextDecoder> = new TextDecoder();
  #line = '';
  #isBehindCr = false;
  #data: string[] = [];
  #chars = 0;
  #event = '';
  #id = '';
  #lastId = '';

  /** The messages that these bytes complete. */
  feed(bytes: Uint8Array): SseMessage[] {
    const messages: SseMessage[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return messages;
    // The CR at the end of the last chunk already ended the line.
    if (this.#isBehindCr && text.startsWith('\n')) text = text.slice(1);
    this.#isBehindCr = text === '' ? false : text.endsWith('\r');
    let from = 0;
    for (const { 0: end, index } of text.matchAll(LINE_END)) {
      const line = this.#line + text.slice(from, index);
      this.#line = '';
      from = index + end.length;
      const message = this.#take(line);
      if (message !== undefined) messages.push(message);
    }
    this.#line += text.slice(from);
    this.#assertBounded(this.#chars + this.#line.length);
    return messages;
  }

  #take(line: string): SseMessage | undefined {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined; // a keep-alive comment
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    switch (field) {
      case 'data':
        this.#chars += value.length + 1;
        this.#assertBounded(this.#chars);
        this.#data.push(value);
        break;
      case 'event':
        this.#event = value;
        break;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        break;
    }
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    const data = this.#data;
    const event = this.#event;
    this.#lastId = this.#id;
    this.#data = [];
    this.#chars = 0;
    this.#event = '';
    if (data.length === 0) return undefined;
    return { id: this.#lastId, event: event === '' ? 'message' : event, data: data.join('\n') };
  }

  #assertBounded(chars: number): void {
    if (chars <= MAX_MESSAGE_CHARS) return;
    throw clientFailure(
      'LIMIT_EXCEEDED',
      'client.eventTooLarge',
      { max: MAX_MESSAGE_CHARS },
      { details: { limit: 'event', max: MAX_MESSAGE_CHARS } },
    );
  }
}
