import { join } from 'node:path';
import type { StoredConvlogLine } from '../../store/port/convlog.ts';
import type { SessionDocument } from '../session-document.ts';
import { replaceFile, writeFileSafely } from './file-writer.ts';
import type { LeftOutCounter } from './left-out.ts';

/** Sessions come one by one, so that a home of any size needs the memory of its largest session. */
export interface LayoutInput {
  readonly documents: AsyncIterable<SessionDocument>;
  /** The channel logs that belong to the export, chat by chat. */
  readonly convlogs: AsyncIterable<readonly StoredConvlogLine[]>;
  readonly out: LayoutFolder;
  /** Every layout reports what it has no field for. */
  readonly leftOut: LeftOutCounter;
  /** Where the layout has no place for a summary: everything that was said instead of the current context. */
  readonly full: boolean;
}

/** For layouts without channel logs. */
export async function skipConvlogs({ convlogs, leftOut }: LayoutInput): Promise<void> {
  for await (const lines of convlogs) leftOut.add('channelMessages', lines.length);
}

/** Writes the files of one system. */
export type Layout = (input: LayoutInput) => Promise<void>;

/** The folder an export goes to. Names are made by the layouts, of checked ids or by `safeName`. */
export class LayoutFolder {
  readonly #folder: string;
  readonly #force: boolean;
  files = 0;

  constructor(folder: string, force: boolean) {
    this.#folder = folder;
    this.#force = force;
  }

  async write(path: readonly string[], content: string | Iterable<string>): Promise<void> {
    await writeFileSafely(join(this.#folder, ...path), content, { force: this.#force });
    this.files++;
  }

  async make(path: readonly string[], fill: (temporary: string) => void | Promise<void>): Promise<void> {
    await replaceFile(join(this.#folder, ...path), this.#force, fill);
    this.files++;
  }
}

export function jsonLines(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

export function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
