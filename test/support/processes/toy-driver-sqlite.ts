/** The driver protocol over `node:sqlite` and nothing else: what SQLite itself promises when it is killed. */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';

interface Command {
  readonly n: number;
  readonly op: string;
  readonly id: string;
  readonly key: string;
  readonly messages: readonly unknown[];
}

const option = { type: 'string' } as const;
const { values } = parseArgs({ options: { store: option, home: option } });
const db = new DatabaseSync(join(values.home ?? '.', 'toy.db'));
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
db.exec('CREATE TABLE IF NOT EXISTS lines (session TEXT, seq INTEGER, key TEXT, message TEXT)');
const insert = db.prepare('INSERT INTO lines VALUES (?, ?, ?, ?)');
const lastSeq = db.prepare('SELECT coalesce(max(seq), 1) AS last FROM lines WHERE session = ?');
const known = db.prepare('SELECT min(seq) AS firstSeq, max(seq) AS lastSeq FROM lines WHERE key = ?');
const lines = db.prepare('SELECT seq, message FROM lines WHERE session = ? ORDER BY seq');

function append({ id, key, messages }: Command): object {
  db.exec('BEGIN IMMEDIATE');
  try {
    const before = known.get(key);
    const last = Number(lastSeq.get(id)?.['last']);
    if (typeof before?.['firstSeq'] !== 'number') {
      messages.forEach((message, at) => {
        insert.run(id, last + 1 + at, key, JSON.stringify(message));
      });
    }
    db.exec('COMMIT');
    return { ...known.get(key) };
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function run(command: Command): object {
  switch (command.op) {
    case 'create':
      return { id: command.id, key: command.key, firstSeq: 1 };
    case 'append':
      return append(command);
    case 'read': {
      const entries = lines.all(command.id).map(({ seq, message }) => ({
        seq,
        entry: { type: 'message', message: JSON.parse(String(message)) },
      }));
      return { entries: [{ seq: 1, entry: { type: 'session' } }, ...entries], hasMore: false };
    }
    default:
      return { ok: false, code: 'INVALID_INPUT', outcome: 'none' };
  }
}

process.stdout.write('{"ready":true}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const command: Command = JSON.parse(line);
  let answer: object;
  try {
    answer = run(command);
  } catch (error) {
    const details = { error: String(error) };
    answer = { ok: false, code: 'STORE_FAILED', outcome: 'unknown', details };
  }
  process.stdout.write(`${JSON.stringify({ n: command.n, ok: true, ...answer })}\n`);
}
db.close();
