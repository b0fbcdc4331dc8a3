import { failure } from '../messages/failure.ts';
import type { Seal, SealInput } from './entry.ts';
import { assertStorable, inspectJson, isObject, type JsonObject, tooLarge } from './json.ts';
import { DEFAULT_RECORD_LIMITS, type RecordLimits } from './limits.ts';
import { sealJson, verifySeal } from './seal.ts';

/**
 * Why a line is not a record. A bad line is data about the file, not an exception: the reader counts it and
 * continues.
 */
export type BadLine = 'bad-json' | 'not-a-record' | 'too-deep' | 'too-long';

export type DecodedLine =
  | { readonly kind: 'blank' }
  | { readonly kind: 'bad'; readonly reason: BadLine }
  | {
      readonly kind: 'record';
      readonly record: JsonObject;
      /** `broken`: the line has a seal that does not match its bytes. */
      readonly seal: Seal | 'broken' | undefined;
      /** The bytes are not UTF-8; the record has replacement characters, the file keeps the bytes. */
      readonly badUtf8: boolean;
      /** A number does not survive parsing; the file keeps its digits. */
      readonly inexact: boolean;
    };

const OPENING_BRACE = 0x7b;
const REPLACEMENT = '\ufffd';
const BLANK: DecodedLine = { kind: 'blank' };
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes one line without its LF. Never throws, never recurses, and costs little more than `JSON.parse`. */
export function decodeLine(bytes: Uint8Array, limits: RecordLimits = DEFAULT_RECORD_LIMITS): DecodedLine {
  if (bytes.length > limits.maxRecordBytes) return { kind: 'bad', reason: 'too-long' };
  const first = firstVisible(bytes);
  if (first === undefined) return BLANK;
  // Cheaper than an exception of the parser, so files of garbage are read as fast as files of records.
  if (first !== OPENING_BRACE) return { kind: 'bad', reason: 'not-a-record' };
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const text = buffer.toString();
  let value: JsonObject;
  try {
    value = JSON.parse(text) as JsonObject;
  } catch {
    // Expected for torn lines; the caller reports kind and position.
    return { kind: 'bad', reason: 'bad-json' };
  }
  const { tooDeep, inexact } = inspectJson(value, limits.maxDepth);
  if (tooDeep) return { kind: 'bad', reason: 'too-deep' };
  const sealed = value['seal'];
  return {
    kind: 'record',
    record: value,
    seal: sealed === undefined ? undefined : verifySeal(buffer, sealed),
    badUtf8: text.includes(REPLACEMENT) && !isUtf8(buffer),
    inexact,
  };
}

/**
 * Encodes one sealed line with its LF. The `seal` of a copied entry is replaced, never nested: fork and import seal
 * their copies again.
 */
export function encodeLine(
  record: JsonObject,
  seal: SealInput,
  limits: RecordLimits = DEFAULT_RECORD_LIMITS,
): string {
  if (!isObject(record) || typeof record['type'] !== 'string') {
    throw failure('INVALID_INPUT', 'record.noType');
  }
  assertStorable(record, limits);
  return encodeStorable(record, seal, limits);
}

/** For a record that already passed `assertStorable`: checking every value again costs as much as writing it. */
export function encodeStorable(
  { seal: _replaced, ...body }: JsonObject,
  seal: SealInput,
  limits: RecordLimits = DEFAULT_RECORD_LIMITS,
): string {
  const line = sealJson(JSON.stringify(body), seal);
  // A UTF-16 unit takes at most three bytes, so nearly every line needs no counting.
  const mayBeTooLong = line.length * 3 > limits.maxRecordBytes;
  if (mayBeTooLong && Buffer.byteLength(line) > limits.maxRecordBytes)
    throw tooLarge('record', limits.maxRecordBytes);
  return `${line}\n`;
}

function firstVisible(bytes: Uint8Array): number | undefined {
  let i = 0;
  while (bytes[i] === 0x20 || bytes[i] === 0x09 || bytes[i] === 0x0d) i++;
  return bytes[i];
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes);
    return true;
  } catch {
    // The decoder is fatal on purpose: it throws for bytes that are not UTF-8.
    return false;
  }
}
