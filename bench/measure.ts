/** Two arms of one comparison, run in turns so that both meet the same noise; the best time of each counts. */
export interface Arm {
  readonly name: string;
  readonly run: () => unknown;
}

export interface Comparison {
  readonly work: string;
  /** What nobody can be faster than, or what people use instead. */
  readonly limit: Arm;
  readonly ours: Arm;
  /** Ours over limit. */
  readonly goal: number;
}

export interface Row {
  readonly work: string;
  readonly limit: string;
  readonly limitMs: number;
  readonly oursMs: number;
  readonly ratio: number;
  readonly goal: number;
}

const ROUNDS = 15;

export function compare({ work, limit, ours, goal }: Comparison): Row {
  const best = { limit: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    best.limit = Math.min(best.limit, time(limit.run));
    best.ours = Math.min(best.ours, time(ours.run));
  }
  return {
    work,
    limit: limit.name,
    limitMs: best.limit,
    oursMs: best.ours,
    ratio: best.ours / best.limit,
    goal,
  };
}

function time(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

export function markdown(rows: readonly Row[]): string {
  const line = ({ work, limit, limitMs, oursMs, ratio, goal }: Row): string =>
    `| ${work} | ${limit} ${limitMs.toFixed(2)} ms | ${oursMs.toFixed(2)} ms | ${ratio.toFixed(2)} | <= ${goal} | ${ratio <= goal ? 'met' : 'MISSED'} |`;
  return ['| work | limit | ours | ratio | goal | |', '|---|---|---|---|---|---|', ...rows.map(line)].join(
    '\n',
  );
}
