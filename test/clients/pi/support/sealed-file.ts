import {
  encodeLine,
  entryIdForSeq,
  isSideEntry,
  type JsonObject,
} from '../../../../src/exports/transcript.ts';
import type { Entry } from '../../../../src/index.ts';

export const HEADER: JsonObject = {
  type: 'session',
  version: 3,
  id: '0197a5b0-0000-7000-8000-000000000001',
  timestamp: '2025-01-01T00:00:00.000Z',
  cwd: '/home/user/project',
  agentId: 'helper',
  key: 'agent:helper:telegram:direct:12345',
};

/** Writes lines as Reprise does: sealed, numbered without gaps, side entries never becoming the leaf. */
export class SealedFile {
  readonly #lines: string[] = [];
  #seq = 0;
  #leaf: string | null = null;

  private constructor() {}

  static create(header: JsonObject = HEADER): SealedFile {
    const file = new SealedFile();
    file.#seal([header]);
    return file;
  }

  /** To append after another program has appended; `text` then holds the new lines only. */
  static resume(lastSeq: number, leaf: string): SealedFile {
    const file = new SealedFile();
    file.#seq = lastSeq;
    file.#leaf = leaf;
    return file;
  }

  get text(): string {
    return this.#lines.join('');
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  get lastSeq(): number {
    return this.#seq;
  }

  get leaf(): string | null {
    return this.#leaf;
  }

  add(type: string, fields: JsonObject): string {
    const [id = ''] = this.append([{ type, ...fields }]);
    return id;
  }

  message(role: string, content: unknown, fields: JsonObject = {}): string {
    return this.add('message', { message: { role, content, ...fields, timestamp: this.#time } });
  }

  /** One atomic append of several lines, each under the one before it. */
  append(bodies: readonly JsonObject[]): string[] {
    let parentId = this.#leaf;
    const entries = bodies.map((body, i): Entry => {
      const id = entryIdForSeq(this.#seq + 1 + i);
      const timestamp = new Date(this.#time + i).toISOString();
      const entry: Entry = { type: String(body['type']), id, parentId, timestamp, ...body };
      if (!isSideEntry(entry)) parentId = id;
      return entry;
    });
    this.#seal(entries);
    this.#leaf = parentId;
    return entries.map(({ id }) => id);
  }

  /** A move of the leaf is a side entry that hangs at the entry it moves to. */
  moveTo(target: string | null): string {
    this.#leaf = target;
    return this.add('custom', { customType: 'reprise.leaf', data: { to: target } });
  }

  get #time(): number {
    return Date.UTC(2025, 0, 1) + this.#seq * 1000;
  }

  #seal(records: readonly JsonObject[]): void {
    for (const [i, record] of records.entries()) {
      this.#lines.push(encodeLine(record, { q: ++this.#seq, e: 1, b: `${i + 1}/${records.length}` }));
    }
  }
}
