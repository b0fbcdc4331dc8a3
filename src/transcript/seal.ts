import { crc32 } from 'node:zlib';
import type { Seal, SealInput } from './entry.ts';
import { isObject } from './json.ts';

/** `,"c":"xxxxxxxx"}}`: the checksum is at the end of the line, so it covers every other byte. */
const TAIL_START = Buffer.from(',"c":"');
const TAIL_END = Buffer.from('"}}');
const DIGITS = 8;
const TAIL_LENGTH = TAIL_START.length + DIGITS + TAIL_END.length;
const MAX_PLACE_DIGITS = 7;

/** Adds the seal to a serialized object. `json` is non-empty and has no `seal`. */
export function sealJson(json: string, { q, e, b, k, h }: SealInput): string {
  let head = `${json.slice(0, -1)},"seal":{"q":${q},"e":${e},"b":"${b}"`;
  if (k !== undefined) head += `,"k":${JSON.stringify(k)}`;
  if (h !== undefined) head += `,"h":${JSON.stringify(h)}`;
  return `${head},"c":"${checksum(head)}"}}`;
}

/** The seal of a parsed line if its bytes match, otherwise `broken`. */
export function verifySeal(bytes: Buffer, seal: unknown): Seal | 'broken' {
  const split = bytes.length - TAIL_LENGTH;
  if (!isSeal(seal) || split < 0) return 'broken';
  const stored = readTail(bytes, split, seal.c);
  return stored !== undefined && crc32(bytes.subarray(0, split)) === stored ? seal : 'broken';
}

/** The checksum at the end of the line, if the line ends with it. Works on bytes, because it runs for every line. */
function readTail(bytes: Buffer, at: number, digits: string): number | undefined {
  for (let i = 0; i < TAIL_START.length; i++) if (bytes[at + i] !== TAIL_START[i]) return undefined;
  let value = 0;
  let place = at + TAIL_START.length;
  for (let i = 0; i < DIGITS; i++, place++) {
    const code = digits.charCodeAt(i);
    const digit =
      code >= 0x61 && code <= 0x66 ? code - 0x57 : code >= 0x30 && code <= 0x39 ? code - 0x30 : -1;
    if (digit === -1 || bytes[place] !== code) return undefined;
    value = value * 16 + digit;
  }
  for (let i = 0; i < TAIL_END.length; i++) if (bytes[place + i] !== TAIL_END[i]) return undefined;
  return value;
}

/** Position of a line in its append: the i-th of n. */
export function sealPlace({ b }: Seal): { readonly i: number; readonly n: number } {
  const slash = b.indexOf('/');
  return { i: readCount(b, 0, slash), n: readCount(b, slash + 1, b.length) };
}

/**
 * Up to seven digits without a leading zero; zero for anything else. Written by hand, because it runs for every line.
 */
function readCount(text: string, from: number, to: number): number {
  if (to - from > MAX_PLACE_DIGITS || text.charCodeAt(from) === 0x30) return 0;
  let value = 0;
  for (let i = from; i < to; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return 0;
    value = value * 10 + digit;
  }
  return value;
}

function isSeal(value: unknown): value is Seal {
  if (!isObject(value)) return false;
  const { q, e, b, k, h, c } = value;
  return (
    Number.isSafeInteger(q) &&
    (q as number) >= 1 &&
    Number.isSafeInteger(e) &&
    (e as number) >= 0 &&
    typeof b === 'string' &&
    isPlace(b) &&
    typeof c === 'string' &&
    c.length === DIGITS &&
    (k === undefined || typeof k === 'string') &&
    (h === undefined || typeof h === 'string')
  );
}

function isPlace(place: string): boolean {
  if (place === '1/1') return true;
  const slash = place.indexOf('/');
  const i = readCount(place, 0, slash);
  return i > 0 && i <= readCount(place, slash + 1, place.length);
}

function checksum(head: string): string {
  return crc32(head).toString(16).padStart(8, '0');
}
