/** One measured comparison. The ratio is always ours over the other arm, whatever the unit. */
export interface Row {
  readonly work: string;
  /** A lower bound that no implementation can beat, or the same work at a smaller size. */
  readonly limit: string;
  readonly limitValue: number;
  readonly oursValue: number;
  readonly unit: string;
  readonly ratio: number;
  readonly goal: number;
  readonly better: 'lower' | 'higher';
  readonly met: boolean;
  readonly note: string;
}

/** A row that is measured only when asked for. */
export interface Task {
  readonly work: string;
  readonly run: () => Row | Promise<Row>;
}

interface Asked {
  readonly work: string;
  /** The goal: the highest ratio of our figure to the limit. */
  readonly goal: number;
}

/** Two arms of one synchronous comparison, run in turns so that both meet the same noise; the best counts. */
export interface Comparison extends Asked {
  readonly limit: SyncArm;
  readonly ours: SyncArm;
}

export interface SyncArm {
  readonly name: string;
  readonly run: () => unknown;
}

/** Works for about `ms` milliseconds and answers with what it measured meanwhile. */
export interface Arm {
  readonly name: string;
  readonly unit: string;
  readonly slice: (ms: number) => Promise<readonly number[]>;
}

export interface SlicedComparison extends Asked {
  readonly limit: Arm;
  readonly ours: Arm;
  readonly better?: 'lower' | 'higher';
  readonly note?: (values: { readonly limit: number; readonly ours: number }) => string;
}

export interface Slices {
  readonly count: number;
  readonly ms: number;
}

const ROUNDS = 30;
const WARM_UP_LIMIT_MS = 1000;

export function compare({ work, limit, ours, goal }: Comparison): Row {
  const best = { limit: Number.POSITIVE_INFINITY, ours: Number.POSITIVE_INFINITY };
  for (let round = 0; round < ROUNDS; round++) {
    best.limit = Math.min(best.limit, time(limit.run));
    best.ours = Math.min(best.ours, time(ours.run));
  }
  return makeRow({ work, limit: limit.name, goal, unit: 'ms', limitValue: best.limit, oursValue: best.ours });
}

/** Alternates the arms in short slices, after a warm-up of each that does not count; medians are compared. */
export async function compareSlices(asked: SlicedComparison, { count, ms }: Slices): Promise<Row> {
  const { work, limit, ours, goal, better = 'lower', note } = asked;
  const samples = { limit: [] as number[], ours: [] as number[] };
  const warmUp = Math.min(4 * ms, WARM_UP_LIMIT_MS);
  await limit.slice(warmUp);
  await ours.slice(warmUp);
  for (let i = 0; i < count; i++) {
    samples.limit.push(...(await limit.slice(ms)));
    samples.ours.push(...(await ours.slice(ms)));
  }
  const values = { limit: median(samples.limit), ours: median(samples.ours) };
  return makeRow({
    work,
    limit: limit.name,
    goal,
    better,
    unit: ours.unit,
    limitValue: values.limit,
    oursValue: values.ours,
    ...(note !== undefined && { note: note(values) }),
  });
}

type RowInput = Omit<Row, 'ratio' | 'better' | 'met' | 'note'> & Partial<Pick<Row, 'better' | 'note'>>;

export function makeRow({ better = 'lower', note = '', ...input }: RowInput): Row {
  const ratio = input.oursValue / input.limitValue;
  const met = better === 'lower' ? ratio <= input.goal : ratio >= input.goal;
  return { ...input, better, note, ratio, met };
}

/** Milliseconds of each run, one after the other. `prepare` comes before each slice and is not measured. */
export function latency(
  name: string,
  run: () => unknown,
  prepare: () => Promise<void> = async () => undefined,
): Arm {
  const slice = async (ms: number): Promise<number[]> => {
    await prepare();
    const samples: number[] = [];
    const end = performance.now() + ms;
    for (let start = performance.now(); start < end; start = performance.now()) {
      await run();
      samples.push(performance.now() - start);
    }
    return samples;
  };
  return { name, unit: 'ms', slice };
}

export interface LoadOptions {
  readonly callers: number;
  /** What one run counts for: two lines, one turn. */
  readonly units?: number;
  /** Comes before each slice and is not measured. */
  readonly prepare?: () => Promise<void>;
}

/** Units per second of so many callers, each of which waits for its answer before it asks again. */
export function rate(
  name: string,
  unit: string,
  run: (caller: number) => unknown,
  { callers, units = 1, prepare = async () => undefined }: LoadOptions,
): Arm {
  const slice = async (ms: number): Promise<number[]> => {
    await prepare();
    const start = performance.now();
    const runs = await load(run, callers, ms);
    return [(runs * units * 1000) / (performance.now() - start)];
  };
  return { name, unit: `${unit}/s`, slice };
}

/** Microseconds per run in which the main thread was not free for anything else. */
export function busyTime(name: string, run: (caller: number) => unknown, { callers }: LoadOptions): Arm {
  const slice = async (ms: number): Promise<number[]> => {
    // The measure is kept per turn of the loop, so the slice gets separate turns.
    await nextTurn();
    const before = performance.eventLoopUtilization();
    const runs = await load(run, callers, ms);
    await nextTurn();
    return [(performance.eventLoopUtilization(before).active * 1000) / runs];
  };
  return { name, unit: 'us', slice };
}

async function load(run: (caller: number) => unknown, callers: number, ms: number): Promise<number> {
  let runs = 0;
  const end = performance.now() + ms;
  const call = async (caller: number): Promise<void> => {
    for (; performance.now() < end; runs++) await run(caller);
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return runs;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function time(run: () => unknown): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

export function median(samples: readonly number[]): number {
  return quantile(samples, 0.5);
}

export function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

const EXPLANATION =
  'The ratio is ours over the limit, both taken in turns in one run. Goal `<=`: lower is better; `>=`: higher is better.';

export function markdown(rows: readonly Row[]): string {
  const line = ({ work, limit, ratio, goal, better, met, note, ...row }: Row): string => {
    const cells = [
      work,
      `${limit}: ${show(row.limitValue, row.unit)}`,
      show(row.oursValue, row.unit),
      ratio.toFixed(2),
      `${better === 'lower' ? '<=' : '>='} ${goal}`,
      met ? 'met' : 'MISSED',
      note,
    ];
    return `| ${cells.join(' | ')} |`;
  };
  const head = ['| work | limit | ours | ratio | goal | verdict | note |', '|---|---|---|---|---|---|---|'];
  return [EXPLANATION, '', ...head, ...rows.map(line)].join('\n');
}

export function show(value: number, unit: string): string {
  const digits = value >= 1000 ? 0 : value >= 10 ? 1 : 3;
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })} ${unit}`;
}
