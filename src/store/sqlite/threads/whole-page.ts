import type { EntryPage } from '../../port/store.ts';
import type { CheckedPage, PageRange } from '../read/reader.ts';

/** A long page comes in parts, so that neither thread is kept from everything else by one message. */
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
