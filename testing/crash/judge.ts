import { RepriseError } from '../../src/errors.ts';
import { type Entry, isSideEntry } from '../../src/transcript/entry.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';
import type { DriverProcess } from './driver-process.ts';
import { type Attempt, type History, textOf } from './history.ts';

/** A line as a driver reads it back. */
export interface SeenEntry {
  readonly seq: number;
  readonly entry: JsonObject;
}

/** All counts are of appends, except `invented`, which counts entries. */
export interface HistoryReport {
  readonly acknowledged: number;
  readonly refused: number;
  /** Still without an answer. */
  readonly unknown: number;
  /** Unknown appends that are stored: the process died between the write and the answer. */
  readonly landed: number;
  /** Acknowledged, but missing or incomplete. */
  readonly lost: number;
  readonly duplicated: number;
  /** Not at the acknowledged seqs, before an append that was answered earlier, or next to a gap. */
  readonly misplaced: number;
  /** Entries that no driver wrote, that were refused, or whose text differs. */
  readonly invented: number;
  /** One line per fault. */
  readonly findings: readonly string[];
  /** All counts in one printable line. */
  readonly line: string;
}

type Fault = 'lost' | 'duplicated' | 'misplaced' | 'invented';
type Report = (fault: Fault, finding: string) => void;

const SHOWN_FINDINGS = 20;

/** Reads a whole session, page by page. */
export async function readSession(
  driver: DriverProcess,
  id: string,
  { limit = 50 }: { readonly limit?: number } = {},
): Promise<readonly SeenEntry[]> {
  const seen: SeenEntry[] = [];
  for (let from = 1; ; ) {
    const answer = await driver.send({ op: 'read', id, from, limit });
    if (!answer.ok || !Array.isArray(answer['entries'])) {
      throw new RepriseError('STORE_FAILED', `session ${id} cannot be read back`, { details: { answer } });
    }
    const page = answer['entries'] as readonly SeenEntry[];
    seen.push(...page);
    const last = page.at(-1);
    if (answer['hasMore'] !== true || last === undefined) return seen;
    from = last.seq + 1;
  }
}

/**
 * The oracle: every acknowledged append is stored exactly once, at its seqs; every refused one is absent; every
 * unknown one is stored once or not at all, never in part; seqs have no gap; there are no other entries. Judges only
 * the given sessions.
 */
export function judgeHistory(
  history: History,
  sessions: ReadonlyMap<string, readonly SeenEntry[]>,
): HistoryReport {
  const counts = { lost: 0, duplicated: 0, misplaced: 0, invented: 0 };
  const findings: string[] = [];
  const report: Report = (fault, finding) => {
    counts[fault] += 1;
    findings.push(`${fault}: ${finding}`);
  };
  for (const contradiction of history.contradictions) report('misplaced', contradiction);

  const judged = [...history.attempts.values()].filter(({ session }) => sessions.has(session));
  const places = new Map<string, number[][]>();
  for (const [id, seen] of sessions) findPlaces(history, id, seen, places, report);
  for (const attempt of judged) judgeAttempt(attempt, places.get(attempt.key) ?? [], report);
  for (const id of sessions.keys()) {
    judgeOrder(
      judged.filter(({ session }) => session === id),
      places,
      report,
    );
  }

  const of = (outcome: Attempt['outcome']): number => judged.filter((it) => it.outcome === outcome).length;
  const all = {
    acknowledged: of('ok'),
    refused: of('refused'),
    unknown: of('unknown'),
    ...counts,
  };
  const line = Object.entries(all)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
  const landed = judged.filter(({ key, outcome }) => outcome === 'unknown' && places.has(key)).length;
  return { ...all, landed, findings, line };
}

export function assertClean(report: HistoryReport): void {
  const { findings, line } = report;
  if (findings.length === 0) return;
  const shown = findings.slice(0, SHOWN_FINDINGS).join('\n');
  throw new RepriseError('STORE_CORRUPT', `${line}\n${shown}`, { details: { findings: findings.length } });
}

/** Records the seqs at which each text of each attempt was found. */
function findPlaces(
  history: History,
  id: string,
  seen: readonly SeenEntry[],
  places: Map<string, number[][]>,
  report: Report,
): void {
  let expected = 1;
  for (const { seq, entry } of seen) {
    if (seq !== expected) report('misplaced', `${id}: seq ${seq} where ${expected} was due`);
    expected = seq + 1;
    if (entry['type'] === 'session' ? seq === 1 : isSideEntry(entry as unknown as Entry)) continue;
    const text = messageText(entry);
    const [, key = '', index = ''] = /^(a\d+)#(\d+):/.exec(text) ?? [];
    const attempt = history.attempts.get(key);
    if (attempt?.session !== id || text !== textOf(attempt, Number(index))) {
      report(
        'invented',
        `${id}: no driver wrote seq ${seq} (${text.slice(0, 40)}, ${text.length} characters)`,
      );
      continue;
    }
    const byIndex = places.get(key) ?? attempt.sizes.map(() => []);
    byIndex[Number(index)]?.push(seq);
    places.set(key, byIndex);
  }
}

function messageText(entry: JsonObject): string {
  const { message } = entry;
  return isObject(message) && typeof message['content'] === 'string' ? message['content'] : '';
}

function judgeAttempt(attempt: Attempt, places: readonly (readonly number[])[], report: Report): void {
  const { session, key, sizes, outcome, seqs } = attempt;
  const who = `${session}: ${outcome} ${key} of ${sizes.length}`;
  const found = sizes.map((_, index) => places[index] ?? []);
  const missing = found.filter((at) => at.length === 0).length;
  if (outcome === 'refused') {
    if (missing < sizes.length) report('invented', `${who} is there`);
    return;
  }
  if (found.some((at) => at.length > 1)) report('duplicated', `${who} is there at ${JSON.stringify(found)}`);
  if (missing > 0 && (outcome === 'ok' || missing < sizes.length)) {
    report('lost', `${who} lacks ${missing}`);
  }
  // Without an acknowledgement, the first entry defines where the others must be.
  const first = seqs?.first ?? found[0]?.[0];
  if (first === undefined) return;
  if (seqs && seqs.last - seqs.first !== sizes.length - 1) {
    report('misplaced', `${who} was acknowledged as ${seqs.first}-${seqs.last}`);
  } else if (found.some((at, index) => at.length > 0 && !at.includes(first + index))) {
    report('misplaced', `${who} is at ${JSON.stringify(found)} and not from ${first} on`);
  }
}

/** Checks that an append that began after another one was acknowledged comes after it. */
function judgeOrder(
  attempts: readonly Attempt[],
  places: ReadonlyMap<string, readonly (readonly number[])[]>,
  report: Report,
): void {
  const acknowledged = attempts.filter(({ outcome }) => outcome === 'ok');
  const begun = acknowledged.toSorted((a, b) => a.begun - b.begun);
  const settled = acknowledged.toSorted((a, b) => (a.settled ?? 0) - (b.settled ?? 0));
  // Use the acknowledged seqs, or the found ones; a missing append was already reported as lost.
  const firstOf = ({ key, seqs }: Attempt): number | undefined => seqs?.first ?? places.get(key)?.[0]?.[0];
  const lastOf = ({ key, seqs }: Attempt): number => seqs?.last ?? places.get(key)?.at(-1)?.[0] ?? 0;
  let next = 0;
  let highest = 0;
  for (const attempt of begun) {
    for (let it = settled[next]; it && (it.settled ?? 0) < attempt.begun; next++, it = settled[next]) {
      highest = Math.max(highest, lastOf(it));
    }
    const { session, key } = attempt;
    const first = firstOf(attempt);
    if (first !== undefined && first <= highest)
      report('misplaced', `${session}: ${key} at ${first} began after ${highest} was acknowledged`);
  }
}
