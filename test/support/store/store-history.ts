import type { Store } from '../../../src/store/port/store.ts';
import type { Answer } from '../../../testing/crash/driver-process.ts';
import { appendCommand, type History } from '../../../testing/crash/history.ts';
import { type HistoryReport, judgeHistory, type SeenEntry } from '../../../testing/crash/judge.ts';
import { failure } from '../../../testing/crash/serve.ts';

/** An attempt of a history on a store of this process, and its answer. */
export async function appendTo(store: Store, history: History, key: string): Promise<Answer> {
  const attempt = history.attempts.get(key);
  if (attempt === undefined) throw new RangeError(key);
  const { id, messages } = appendCommand(attempt);
  const entries = messages.map((message) => ({ type: 'message', message }));
  const answer = await store.append(id, entries, { key }).then(
    (receipt): Answer => ({ n: null, ok: true, ...receipt }),
    (error: unknown) => ({ n: null, ...failure(error) }) as unknown as Answer,
  );
  history.settle(key, answer);
  return answer;
}

export async function readAll(store: Store, id: string): Promise<SeenEntry[]> {
  const seen: SeenEntry[] = [];
  for (let from = 1; ; ) {
    const { entries, hasMore } = await store.read(id, { from, limit: 500 });
    seen.push(...(entries as unknown as SeenEntry[]));
    if (!hasMore) return seen;
    from = (seen.at(-1)?.seq ?? 0) + 1;
  }
}

export async function judgeStore(
  store: Store,
  history: History,
  ids: readonly string[],
): Promise<HistoryReport> {
  const seen = await Promise.all(ids.map(async (id) => [id, await readAll(store, id)] as const));
  return judgeHistory(history, new Map(seen));
}
