import type { JsonObject } from '../../../transcript/json.ts';
import { decodeLine } from '../../../transcript/line.ts';
import { factsOf, titleFrom } from '../../rules/facts.ts';
import { canonicalTime } from '../../shared/clock.ts';
import { readRange } from '../transcript-files.ts';

/** How much of each end of a file is read. Most first messages and last lines are shorter. */
const PEEK_BYTES = 8 * 1024;
const LF = 10;

/** What a list shows of a transcript whose lines are not counted yet. */
export interface Peek {
  /** Empty if neither end of the file has a message of a user or a name. */
  readonly title: string;
  /** Unset if the end of the file has no entry with a time. */
  readonly lastAt: string | undefined;
  readonly status: 'open' | 'deleted';
}

/** Reads both ends of a transcript. A name in the middle of a long file is found later, with the counts. */
export function peek(fd: number, size: number): Peek {
  const head = readRange(fd, 0, Math.min(PEEK_BYTES, size));
  const first = recordsIn(head, { isCutBefore: false });
  const isWhole = head.length === size;
  const last = isWhole
    ? first
    : recordsIn(readRange(fd, Math.max(head.length, size - PEEK_BYTES), size), { isCutBefore: true });
  const facts = (isWhole ? first : [...first, ...last]).map(factsOf);
  const name = facts.findLast((one) => one.name !== undefined && one.name !== '')?.name;
  const asked = facts.find(({ userText }) => userText !== undefined && titleFrom(userText) !== '')?.userText;
  const newest = last.findLast((record) => canonicalTime(record['timestamp']) !== undefined);
  return {
    title: titleFrom(name ?? asked ?? ''),
    lastAt: canonicalTime(newest?.['copiedAt']) ?? canonicalTime(newest?.['timestamp']),
    status: facts.findLast(({ status }) => status !== undefined)?.status ?? 'open',
  };
}

/** The readable complete lines. */
function recordsIn(bytes: Buffer, { isCutBefore }: { readonly isCutBefore: boolean }): JsonObject[] {
  const records: JsonObject[] = [];
  for (let start = isCutBefore ? bytes.indexOf(LF) + 1 : 0; start < bytes.length; ) {
    const end = bytes.indexOf(LF, start);
    if (end === -1) break;
    const line = decodeLine(bytes.subarray(start, end));
    if (line.kind === 'record') records.push(line.record);
    start = end + 1;
  }
  return records;
}
