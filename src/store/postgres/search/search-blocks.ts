import { setImmediate as turn } from 'node:timers/promises';
import { failure } from '../../../messages/failure.ts';
import type { Entry, SessionHeader } from '../../../transcript/entry.ts';
import { flatText, foldCase, searchable } from '../../search/search-text.ts';
import type { Sql } from '../connection/connections.ts';
import { type StoreContext, transaction } from '../connection/transaction.ts';
import { boundedLines } from '../long-lines.ts';
import { addGrams, type GramSet } from './search-grams.ts';

/**
 * The index keeps its pieces of text by blocks of lines of one session, not by lines: what many lines share is kept
 * once, and a word that is everywhere is found in a few thousand blocks instead of millions of lines. Who searches reads
 * the lines of a block.
 */
const BLOCK_CHARS = 32 * 1024;
/** Of lines, which may have more in them than text. */
const BLOCK_BYTES = 256 * 1024;
/** Below this a block is made anew with what comes next, whatever that is. */
const SMALL_CHARS = 1024;
const LINES_AT_ONCE = 256;
/** So many blocks of a session are looked at for being joined. */
const MAX_JOINED = 16;
/** Of text, between two turns of the event loop. */
const SLICE_CHARS = 8 * 1024;

interface Line {
  readonly seq: number;
  readonly line: string;
}

/** What the index keeps of some lines of a session. */
class Block {
  readonly firstSeq: number;
  readonly grams: GramSet = new Set();
  lastSeq: number;
  chars = 0;
  bytes = 0;
  oldest: number = Number.MAX_SAFE_INTEGER;
  newest = 0;

  constructor(firstSeq: number) {
    this.firstSeq = firstSeq;
    this.lastSeq = firstSeq;
  }

  get isFull(): boolean {
    return this.chars >= BLOCK_CHARS || this.bytes >= BLOCK_BYTES;
  }

  async add({ seq, line }: Line): Promise<void> {
    this.lastSeq = seq;
    this.bytes += Buffer.byteLength(line);
    const said = searchable(parseLine(line));
    if (said === undefined) return;
    const text = foldCase(flatText(said.text));
    this.chars += text.length;
    this.oldest = Math.min(this.oldest, said.at);
    this.newest = Math.max(this.newest, said.at);
    for (let at = 0; at < text.length; at += SLICE_CHARS) {
      // With the beginning of the next slice, so that no piece is cut.
      addGrams(this.grams, text.slice(at, at + SLICE_CHARS + 2));
      await turn();
    }
  }
}

/** What is damaged says nothing here; whoever reads or verifies the session tells of it. */
export function parseLine(line: string): Entry | SessionHeader {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    // As a line of a kind nobody looks for.
    return { type: 'unreadable' } as unknown as Entry;
  }
}

/**
 * Indexes what a session has and the index has not, a bounded part of it; true when nothing was left. Nobody is kept
 * waiting: lines are read without a lock, and the session's row is touched by the last statement alone. That one finds
 * out, too, whether another node has done the same meanwhile; then this was for nothing, and did no harm.
 */
export async function indexSession(context: StoreContext, id: string): Promise<boolean> {
  const sql = context.connections;
  const [mark] = await sql.query<{ readonly seq: number; readonly indexed_seq: number }>(
    'SELECT seq, indexed_seq FROM reprise.sessions WHERE id = $1',
    [id],
  );
  if (mark === undefined || mark.indexed_seq >= mark.seq) return true;
  const fresh = await sql.query<Line>(LINES, [id, mark.indexed_seq + 1, mark.seq, LINES_AT_ONCE]);
  // Where lines are missing, which `verify` tells, there is nothing to wait for.
  const last = fresh.at(-1)?.seq ?? mark.seq;
  const start = await joinFrom(sql, id, { fresh, indexedSeq: mark.indexed_seq });
  const earlier = start > mark.indexed_seq ? [] : await linesOf(sql, id, start, mark.indexed_seq);
  const blocks: Block[] = [];
  for (const line of [...earlier, ...fresh]) {
    const open = blocks.at(-1);
    const block = open === undefined || open.isFull ? new Block(line.seq) : open;
    if (block !== open) blocks.push(block);
    await block.add(line);
  }
  const isMoved = await save(context, id, { start, blocks, from: mark.indexed_seq, to: last });
  return isMoved && last >= mark.seq;
}

const LINES = boundedLines({
  columns: 'seq, line',
  from: 'reprise.lines WHERE session_id = $1 AND seq BETWEEN $2 AND $3',
  order: 'seq',
  text: 'line',
  limit: '$4',
});

async function linesOf(sql: Sql, id: string, from: number, to: number): Promise<Line[]> {
  const lines: Line[] = [];
  while (lines.length < to - from + 1) {
    const next = (lines.at(-1)?.seq ?? from - 1) + 1;
    const rows = await sql.query<Line>(LINES, [id, next, to, LINES_AT_ONCE]);
    if (rows.length === 0) break;
    lines.push(...rows);
  }
  return lines;
}

/**
 * Where a new block begins: behind the last one or, where that is small beside what is new, with it. So a conversation
 * that grows line by line is indexed a few times over, not with every line, and ends as few blocks.
 */
async function joinFrom(
  sql: Sql,
  id: string,
  { fresh, indexedSeq }: { readonly fresh: readonly Line[]; readonly indexedSeq: number },
): Promise<number> {
  const tail = await sql.query<{
    readonly first_seq: number;
    readonly chars: number;
    readonly bytes: number;
  }>(
    `SELECT first_seq, chars, bytes FROM reprise.search_blocks WHERE session_id = $1
     ORDER BY first_seq DESC LIMIT ${MAX_JOINED}`,
    [id],
  );
  let bytes = fresh.reduce((sum, { line }) => sum + line.length, 0);
  let chars = Math.min(bytes, BLOCK_CHARS);
  let start = indexedSeq + 1;
  for (const block of tail) {
    const fits = block.chars + chars <= BLOCK_CHARS && block.bytes + bytes <= BLOCK_BYTES;
    if (!fits || block.chars > Math.max(SMALL_CHARS, 2 * chars)) break;
    start = block.first_seq;
    chars += block.chars;
    bytes += block.bytes;
  }
  return start;
}

interface Indexed {
  /** Blocks from here on are replaced. */
  readonly start: number;
  readonly blocks: readonly Block[];
  readonly from: number;
  readonly to: number;
}

/** False when another node was faster; then nothing has happened. */
async function save(
  context: StoreContext,
  id: string,
  { start, blocks, from, to }: Indexed,
): Promise<boolean> {
  let isTaken = false;
  try {
    await transaction(context, async (tx) => {
      // What a crash of the server takes back is indexed again.
      tx.run('SET LOCAL synchronous_commit = off');
      tx.run('DELETE FROM reprise.search_blocks WHERE session_id = $1 AND first_seq >= $2', [id, start]);
      for (const { firstSeq, lastSeq, chars, bytes, oldest, newest, grams } of blocks) {
        if (chars === 0) continue;
        tx.run(INSERT, [id, firstSeq, lastSeq, chars, bytes, oldest, newest, `{${[...grams].join()}}`]);
      }
      const moved = await tx.query(MOVE, [id, from, to]);
      isTaken = moved.length === 0;
      if (isTaken) throw failure('STORE_BUSY', 'session.changed');
    });
    return true;
  } catch (error) {
    // A server that is busy is none of ours: tried again at once, for ever, it would be busier.
    if (isTaken) return false;
    throw error;
  }
}

const INSERT = `INSERT INTO reprise.search_blocks
    (session_id, first_seq, last_seq, chars, bytes, oldest, newest, grams)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8::int4[]) ON CONFLICT DO NOTHING`;

const MOVE = `UPDATE reprise.sessions SET indexed_seq = $3 WHERE id = $1 AND indexed_seq = $2 RETURNING 1 AS one`;

/**
 * Takes a session out of the index; it is indexed anew like any that never was. Blocks before the row, as everybody
 * here: a block that comes in between goes when the first one is written.
 */
export async function forgetIndexed(context: StoreContext, id: string): Promise<void> {
  await transaction(context, async (tx) => {
    tx.run('DELETE FROM reprise.search_blocks WHERE session_id = $1', [id]);
    tx.run('UPDATE reprise.sessions SET indexed_seq = 0 WHERE id = $1', [id]);
  });
}
