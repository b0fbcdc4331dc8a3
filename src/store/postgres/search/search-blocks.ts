import { setImmediate as turn } from 'node:timers/promises';
import { failure } from '../../../messages/failure.ts';
import type { Entry, SessionHeader } from '../../../transcript/entry.ts';
import { flatText, foldCase, searchable } from '../../search/search-text.ts';
import type { Sql } from '../connection/connections.ts';
import { type StoreContext, transaction } from '../connection/transaction.ts';
import { boundedLines } from '../long-lines.ts';
import { addGrams, type GramSet } from './search-grams.ts';

/**
 * The index stores grams per block of consecutive lines, not per line: grams that many lines share are stored once,
 * and a common word is found in a few thousand blocks instead of millions of lines. A search reads the lines of the
 * matching blocks.
 */
const BLOCK_CHARS = 32 * 1024;
/** Limit for whole lines, which may contain more than text. */
const BLOCK_BYTES = 256 * 1024;
/** A block smaller than this is always rebuilt together with the next lines. */
const SMALL_CHARS = 1024;
const LINES_AT_ONCE = 256;
/** Number of blocks of a session that are considered for joining. */
const MAX_JOINED = 16;
/** Characters of text between two turns of the event loop. */
const SLICE_CHARS = 8 * 1024;

interface Line {
  readonly seq: number;
  readonly line: string;
}

/** The index data of some lines of a session. */
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
      // Include the start of the next slice, so that no gram is cut.
      addGrams(this.grams, text.slice(at, at + SLICE_CHARS + 2));
      await turn();
    }
  }
}

/** Parses a line. Damaged lines are ignored here; reads and verification report them. */
export function parseLine(line: string): Entry | SessionHeader {
  try {
    return JSON.parse(line) as Entry;
  } catch {
    // Treat it as a line of a kind that is never searched.
    return { type: 'unreadable' } as unknown as Entry;
  }
}

/**
 * Indexes a limited part of what the index lacks of a session. @returns true if nothing is left. It delays no writer:
 * lines are read without a lock, and only the last statement writes the session's row. That statement also detects
 * whether another node indexed the same part meanwhile; then this work is discarded.
 */
export async function indexSession(context: StoreContext, id: string): Promise<boolean> {
  const sql = context.connections;
  const [mark] = await sql.query<{ readonly seq: number; readonly indexed_seq: number }>(
    'SELECT seq, indexed_seq FROM reprise.sessions WHERE id = $1',
    [id],
  );
  if (mark === undefined || mark.indexed_seq >= mark.seq) return true;
  const fresh = await sql.query<Line>(LINES, [id, mark.indexed_seq + 1, mark.seq, LINES_AT_ONCE]);
  // Missing lines, which `verify` reports, will not appear later.
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
 * The first seq of the new block: after the last block, or at its start if that block is small compared with the new
 * lines. So a growing conversation is indexed only a few times over, and ends up in few blocks.
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
  /** Blocks from this seq on are replaced. */
  readonly start: number;
  readonly blocks: readonly Block[];
  readonly from: number;
  readonly to: number;
}

/** @returns false if another node was faster; then nothing was written. */
async function save(
  context: StoreContext,
  id: string,
  { start, blocks, from, to }: Indexed,
): Promise<boolean> {
  let isTaken = false;
  try {
    await transaction(context, async (tx) => {
      // If the server crashes, the lost part is indexed again.
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
    // Not our conflict: the server is busy, and an immediate retry would only add load.
    if (isTaken) return false;
    throw error;
  }
}

const INSERT = `INSERT INTO reprise.search_blocks
    (session_id, first_seq, last_seq, chars, bytes, oldest, newest, grams)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8::int4[]) ON CONFLICT DO NOTHING`;

const MOVE = `UPDATE reprise.sessions SET indexed_seq = $3 WHERE id = $1 AND indexed_seq = $2 RETURNING 1 AS one`;

/**
 * Removes a session from the index, so that it is indexed again. Blocks are locked before the row, as everywhere
 * here; a block that another node inserts in between is deleted when the first new block is written.
 */
export async function forgetIndexed(context: StoreContext, id: string): Promise<void> {
  await transaction(context, async (tx) => {
    tx.run('DELETE FROM reprise.search_blocks WHERE session_id = $1', [id]);
    tx.run('UPDATE reprise.sessions SET indexed_seq = 0 WHERE id = $1', [id]);
  });
}
