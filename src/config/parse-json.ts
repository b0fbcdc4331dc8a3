import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { JsonProblem } from '../messages/params/params-settings.ts';

export interface ParsedJson {
  readonly value: unknown;
  /** Where the value of a path such as `server.port` stands; undefined where the file does not have it. */
  readonly placeOf: (path: string) => Place | undefined;
}

/** From 1 on. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

const MAX_DEPTH = 32;
/** As names these would change what every object inherits, or look as if they did (T65). */
const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const SPACE = /[ \t\r\n]*/y;
/** Each character can be read in one way only, so that a quote that is missing is noticed at once. */
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

/**
 * Strict JSON. `JSON.parse` gives no line numbers, which people need who edit a file by hand, and silently uses the
 * last of two equal names.
 */
export function parseJson(text: string, file: string): ParsedJson {
  return new Parser(text, file).parse();
}

class Parser {
  readonly #text: string;
  readonly #file: string;
  readonly #starts: Map<string, number> = new Map();
  #at = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
    if (text.startsWith('\ufeff')) this.#at = 1;
  }

  parse(): ParsedJson {
    const value = this.#value([]);
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw this.#fault('expectedEnd');
    return {
      value,
      placeOf: (path) => {
        const at = this.#starts.get(path);
        return at === undefined ? undefined : this.#place(at);
      },
    };
  }

  #value(path: readonly string[]): unknown {
    this.#match(SPACE);
    if (path.length > MAX_DEPTH) throw this.#fault('tooDeep');
    this.#starts.set(path.join('.'), this.#at);
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(path);
    if (first === '[') return this.#array(path);
    const token = this.#match(STRING) || this.#match(NUMBER) || this.#match(WORD);
    if (token === '') throw this.#fault('expectedValue');
    return JSON.parse(token);
  }

  #object(path: readonly string[]): unknown {
    const object: Record<string, unknown> = {};
    this.#at++;
    if (this.#takes('}')) return object;
    do {
      this.#match(SPACE);
      const start = this.#at;
      const token = this.#match(STRING);
      if (token === '') throw this.#fault('expectedName');
      const name = JSON.parse(token) as string;
      if (FORBIDDEN.has(name)) throw this.#fault('forbiddenName', { at: start, name: token });
      if (Object.hasOwn(object, name)) throw this.#fault('repeatedName', { at: start, name: token });
      if (!this.#takes(':')) throw this.#fault('expectedColon');
      object[name] = this.#value([...path, name]);
    } while (this.#takes(','));
    if (!this.#takes('}')) throw this.#fault('expectedCommaOrBrace');
    return object;
  }

  #array(path: readonly string[]): unknown {
    const array: unknown[] = [];
    this.#at++;
    if (this.#takes(']')) return array;
    do array.push(this.#value([...path, String(array.length)]));
    while (this.#takes(','));
    if (!this.#takes(']')) throw this.#fault('expectedCommaOrBracket');
    return array;
  }

  #takes(sign: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== sign) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ''] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #place(at: number): Place {
    const before = this.#text.slice(0, at).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  }

  #fault(
    problem: JsonProblem,
    { at = this.#at, name }: { readonly at?: number; readonly name?: string } = {},
  ): RepriseError {
    const place = { file: this.#file, ...this.#place(at) };
    const atEnd = at >= this.#text.length;
    return failure(
      'CONFIG_INVALID',
      'config.badJson',
      { ...place, problem, atEnd, ...(name !== undefined && { name }) },
      { details: place },
    );
  }
}
