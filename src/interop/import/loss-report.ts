/** What became of the records of a source, by kind. */
export interface LossReport {
  /** Messages and other entries that were imported, by kind. */
  readonly imported: Readonly<Record<string, number>>;
  /** Records of unknown kinds. They are stored as they are and have no effect. */
  readonly raw: Readonly<Record<string, Loss>>;
  /** Records that were not imported. */
  readonly dropped: Readonly<Record<string, Loss>>;
}

export interface Loss {
  readonly count: number;
  /** The position of the first one: `line 12`, `message 3`. */
  readonly first: string;
}

type Losses = Map<string, { count: number; readonly first: string }>;

/** Kinds come from foreign files, so their number and length are limited. */
const MAX_KINDS = 60;
const MAX_KIND_CHARS = 60;

/** Counts what becomes of each record while a source is read. */
export class LossCounter {
  readonly #imported: Map<string, number> = new Map();
  readonly #raw: Losses = new Map();
  readonly #dropped: Losses = new Map();

  imported(kind: string, count: number = 1): void {
    this.#imported.set(kind, (this.#imported.get(kind) ?? 0) + count);
  }

  raw(kind: string, first: string): void {
    addLoss(this.#raw, kind, 1, first);
  }

  dropped(kind: string, first: string, count: number = 1): void {
    addLoss(this.#dropped, kind, count, first);
  }

  add(report: LossReport): void {
    for (const [kind, count] of Object.entries(report.imported)) this.imported(kind, count);
    for (const [kind, { count, first }] of Object.entries(report.raw)) addLoss(this.#raw, kind, count, first);
    for (const [kind, { count, first }] of Object.entries(report.dropped))
      addLoss(this.#dropped, kind, count, first);
  }

  get report(): LossReport {
    const imported = Object.fromEntries(this.#imported);
    return { imported, raw: Object.fromEntries(this.#raw), dropped: Object.fromEntries(this.#dropped) };
  }
}

function addLoss(losses: Losses, kind: string, count: number, first: string): void {
  const name = kind.slice(0, MAX_KIND_CHARS);
  const key = losses.has(name) || losses.size < MAX_KINDS ? name : 'other kinds';
  const known = losses.get(key);
  if (known === undefined) losses.set(key, { count, first });
  else known.count += count;
}

/** One line for people: `2 progress, first line 7; 1 attachment, first line 3`. */
export function lossText(losses: LossReport['raw']): string {
  return Object.entries(losses)
    .map(([kind, { count, first }]) => `${count} ${kind} (first: ${first})`)
    .join(', ');
}

export const NO_LOSS: LossReport = { imported: {}, raw: {}, dropped: {} };
