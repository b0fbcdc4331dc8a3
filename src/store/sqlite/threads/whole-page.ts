import type { EntryPage } from '../../port/store.ts';
import type { CheckedPage, PageRange } from '../read/reader.ts';

/** Joins the parts of a long page. It arrives in parts, so that a single message does not block either thread. */
export async function wholePage(
  { lastSeq, hasMore, ...first }: CheckedPage,
  more: (rest: PageRange) => Promise<CheckedPage>,
): Promise<{ readonly page: EntryPage; readonly damagedAt: number | undefined }> {
  const entries = [...first.entries];
  let { damagedAt, rest } = first;
  while (rest !== undefined) {
    const part = await more(rest);
    for (const stored of part.entries) entries.push(stored);
    damagedAt ??= part.damagedAt;
    rest = part.rest;
  }
  return { page: { entries, lastSeq, hasMore }, damagedAt };
}
