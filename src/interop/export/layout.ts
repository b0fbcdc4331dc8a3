import { join } from 'node:path';
import type { StoredConvlogLine } from '../../store/port/convlog.ts';
import type { SessionDocument } from '../session-document.ts';
import { replaceFile, writeFileSafely } from './file-writer.ts';
import type { LeftOutCounter } from './left-out.ts';

/** Sessions are streamed, so the export needs only the memory of the largest session. */
export interface LayoutInput {
  readonly documents: AsyncIterable<SessionDocument>;
  /** The channel logs that belong to the export, chat by chat. */
  readonly convlogs: AsyncIterable<readonly StoredConvlogLine[]>;
  readonly out: LayoutFolder;
  /** Counts data for which the layout has no field. */
  readonly leftOut: LeftOutCounter;
  /** If the layout cannot store a summary: export all messages instead of the current context. */
  readonly full: boolean;
}

/** For layouts without channel logs. */
export async function skipConvlogs({ convlogs, leftOut }: LayoutInput): Promise<void> {
  for await (const lines of convlogs) leftOut.add('channelMessages', lines.length);
}

/** Writes the files of one system. */
export type Layout = (input: LayoutInput) => Promise<void>;

/** The target folder of an export. Layouts build names from checked ids or with `safeName`. */
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
