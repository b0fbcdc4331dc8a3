import type { LostTranscript } from '../../messages/params/params-stores.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { decodeLine } from '../../transcript/line.ts';
import { readRange } from './transcript-files.ts';

/** Nearly every header has at most 512 bytes; a long working directory makes it longer. */
const HEADER_BYTES = 4096;
const MAX_HEADER_BYTES = 1024 * 1024;
const LF = 10;

export interface FirstRecord {
  readonly record: JsonObject;
  readonly isSealed: boolean;
}

/** @returns `undefined` if the file does not begin with a JSON object. */
export function firstRecord(fd: number): FirstRecord | undefined {
  let head = readRange(fd, 0, HEADER_BYTES);
  if (head.length === HEADER_BYTES && !head.includes(LF)) head = readRange(fd, 0, MAX_HEADER_BYTES);
  const lf = head.indexOf(LF);
  const line = decodeLine(lf === -1 ? head : head.subarray(0, lf));
  if (line.kind !== 'record') return undefined;
  return { record: line.record, isSealed: line.seal !== undefined && line.seal !== 'broken' };
}

/** The id in an intact header, if it names another session. */
export function otherSessionIn(fd: number, id: string): string | undefined {
  const { record, isSealed } = firstRecord(fd) ?? {};
  const named = isSealed === true && record?.['type'] === 'session' ? record['id'] : id;
  return named === id ? undefined : String(named);
}

/** The problem with a transcript's header. @returns `undefined` if it is sealed and names this session. */
export function headerProblem(fd: number, id: string): LostTranscript | undefined {
  const { record, isSealed } = firstRecord(fd) ?? {};
  if (isSealed !== true || record?.['type'] !== 'session') return 'noHeader';
  return record['id'] === id ? undefined : 'otherSession';
}
