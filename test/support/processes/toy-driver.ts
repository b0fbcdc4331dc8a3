/**
 * A store of the simplest kind that speaks the driver protocol: one file per session, one line per append. With
 * `--store correct` it keeps every promise, also with several processes on one home; the other names break one
 * promise each, so that the crash kit can be seen to notice.
 */
import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

interface Command {
  readonly n: number;
  readonly op: string;
  readonly id: string;
  readonly key: string;
  readonly from?: number;
  readonly limit?: number;
  readonly messages: readonly unknown[];
}

interface Receipt {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

const option = { type: 'string' } as const;
const { values } = parseArgs({ options: { store: option, home: option } });
const promise = values.store ?? 'correct';
const home = values.home ?? '.';
const sessions = new Map<string, Session>();

class Session {
  readonly file: number;
  readonly entries: unknown[] = [];
  readonly receipts = new Map<string, Receipt>();
  #read = 0;

  constructor(id: string) {
    this.file = openSync(join(home, `${id}.toy`), 'a+');
  }

  /**
   * A record begins with LF and ends with its closing brace. What another process was killed in does not parse,
   * now or later, so everyone counts the same records.
   */
  scan(): void {
    const chunk = Buffer.alloc(1 << 20);
    let bytes = Buffer.alloc(0);
    for (;;) {
      const count = readSync(this.file, chunk, 0, chunk.length, this.#read + bytes.length);
      if (count === 0) break;
      bytes = Buffer.concat([bytes, chunk.subarray(0, count)]);
    }
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf('\n', start + 1);
      const record = parseRecord(bytes.subarray(start, end === -1 ? bytes.length : end));
      // The last one may still be growing.
      if (end === -1 && record === undefined) return;
      if (record) this.#add(record);
      const size = (end === -1 ? bytes.length : end) - start;
      start += size;
      this.#read += size;
    }
  }

  #add({ key, messages }: Pick<Command, 'key' | 'messages'>): void {
    const firstSeq = this.entries.length + 2;
    this.entries.push(...messages);
    this.receipts.set(key, { firstSeq, lastSeq: firstSeq + messages.length - 1 });
  }

  write(records: readonly Command[]): void {
    for (const { key, messages } of records) {
      const bytes = Buffer.from(`\n${JSON.stringify({ key, messages })}`);
      for (let done = 0; done < bytes.length; ) done += writeSync(this.file, bytes, done);
    }
    if (promise !== 'no-sync') fdatasyncSync(this.file);
  }
}

function parseRecord(bytes: Buffer): Pick<Command, 'key' | 'messages'> | undefined {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    // Torn.
    return undefined;
  }
}

function sessionOf(id: string): Session {
  const session = sessions.get(id) ?? new Session(id);
  sessions.set(id, session);
  session.scan();
  return session;
}

function print(n: number, fields: object): void {
  process.stdout.write(`${JSON.stringify({ n, ok: true, ...fields })}\n`);
}

let appends = 0;
/** Acknowledged and not written. */
const owed: Command[] = [];
/** Neither acknowledged nor written. */
let batch: Command[] = [];

/** Undefined where the answer comes later. */
function append(command: Command): object | undefined {
  const { id, key, messages } = command;
  const session = sessionOf(id);
  const known = session.receipts.get(key);
  if (known && promise !== 'appends-again') return known;
  appends += 1;
  switch (promise) {
    case 'acks-early': {
      owed.push(command);
      if (owed.length > 4) write(owed.shift() ?? command);
      return receiptFrom(session.entries.length + 2, command);
    }
    case 'reorders':
      if (batch.length === 0) setTimeout(writeBatch, 2);
      batch.push(command);
      return undefined;
    case 'refuses-late':
      if (appends % 5 === 0) {
        write(command);
        return { ok: false, code: 'STORE_BUSY', outcome: 'none' };
      }
      return write(command);
    case 'tears': {
      const { firstSeq } = write({ ...command, messages: messages.slice(0, 2) });
      return receiptFrom(firstSeq, command);
    }
    default:
      return write(command);
  }
}

function write(command: Command): Receipt {
  const session = sessionOf(command.id);
  session.write([command]);
  session.scan();
  return session.receipts.get(command.key) ?? receiptFrom(0, command);
}

/** Acknowledges in the order of arrival what it writes the other way round. */
function writeBatch(): void {
  for (const [id, commands] of Map.groupBy(batch, (command) => command.id)) {
    let firstSeq = sessionOf(id).entries.length + 2;
    sessionOf(id).write(commands.toReversed());
    for (const command of commands) {
      const receipt = receiptFrom(firstSeq, command);
      print(command.n, receipt);
      firstSeq = receipt.lastSeq + 1;
    }
  }
  batch = [];
}

function receiptFrom(firstSeq: number, { messages }: Command): Receipt {
  return { firstSeq, lastSeq: firstSeq + messages.length - 1 };
}

function run(command: Command): object | undefined {
  const { op, id, from = 1, limit = 100 } = command;
  switch (op) {
    case 'create':
      return { id, key: command.key, firstSeq: 1 };
    case 'append':
      return append(command);
    case 'read': {
      const { entries } = sessionOf(id);
      const all = [{ type: 'session' }, ...entries.map((message) => ({ type: 'message', message }))];
      const page = all.slice(from - 1, from - 1 + limit).map((entry, at) => ({ seq: from + at, entry }));
      return { entries: page, lastSeq: all.length, hasMore: from - 1 + limit < all.length };
    }
    case 'verify':
      return { status: 'clean', findings: [] };
    default:
      return { ok: false, code: 'INVALID_INPUT', outcome: 'none' };
  }
}

process.stdout.write('{"ready":true}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const command: Command = JSON.parse(line);
  try {
    const answer = run(command);
    if (answer) print(command.n, answer);
  } catch (error) {
    const details = { error: String(error) };
    print(command.n, { ok: false, code: 'STORE_FAILED', outcome: 'unknown', details });
  }
}
for (const command of owed) write(command);
writeBatch();
for (const { file } of sessions.values()) closeSync(file);
