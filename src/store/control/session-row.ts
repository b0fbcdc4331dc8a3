import { RepriseError } from '../../errors.ts';
import { seqForEntryId } from '../../transcript/entry-id.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { patchSettings } from '../../transcript/settings.ts';
import { type EntryFacts, titleFrom } from '../common/facts.ts';
import type { SessionRecord, SessionStatus } from '../store.ts';
import type { Database } from './database.ts';

/** What every database keeps of a session in one row. */
export interface SessionState {
  id: string;
  agent_id: string;
  key: string;
  kind: string;
  channel: string | null;
  parent_id: string | null;
  title: string;
  label: string | null;
  status: SessionStatus;
  created_at: string;
  last_at: string;
  recent: string;
  message_count: number;
  turn_count: number;
  token_estimate: number;
  settings: string;
  seq: number;
  q: number;
  leaf: string | null;
  epoch: number;
  context_seq: number;
  context_compaction: number;
  corrupt_at: number | null;
}

/** A row of `sessions`, as SQLite gives and takes it. */
export interface SessionRow extends SessionState {
  file_seq: number;
  file_size: number;
  synced_seq: number;
  synced_size: number;
}

/** What an append may change; the rest is set once or belongs to the transcript file. */
const CHANGEABLE = [
  'title',
  'label',
  'status',
  'last_at',
  'message_count',
  'turn_count',
  'token_estimate',
  'settings',
  'seq',
  'q',
  'leaf',
  'epoch',
  'context_seq',
  'context_compaction',
] as const satisfies readonly (keyof SessionState)[];

const UPDATE = `UPDATE sessions SET ${CHANGEABLE.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`;

export function findSession(db: Database, id: string): SessionRow | undefined {
  const row = findIgnoringCase(db, id);
  return row?.id === id ? row : undefined;
}

/** Ids that differ only in case would be one file on some disks, so only one of them can be taken. */
export function findIgnoringCase(db: Database, id: string): SessionRow | undefined {
  return db.row<SessionRow>('SELECT * FROM sessions WHERE id = ?', id);
}

export function getSession(db: Database, id: string): SessionRow {
  const row = findSession(db, id);
  if (row === undefined) return refuseUnknown(db, id);
  assertRead(row);
  return row;
}

/** One known by its header only: to go on without its lines would be to forget them. */
export function assertRead({ id, seq }: SessionRow): void {
  if (seq > 0) return;
  throw new RepriseError('STORE_BUSY', `the transcript of session ${id} has not been read yet`, {
    details: { id },
  });
}

export function refuseUnknown(db: Database, id: string): never {
  if (db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined) {
    throw new RepriseError('GONE', `session ${id} was purged`, { details: { id } });
  }
  throw new RepriseError('SESSION_NOT_FOUND', `no session ${id}`, { details: { id } });
}

export function saveSession(db: Database, row: SessionRow): void {
  db.run(UPDATE, ...CHANGEABLE.map((name) => row[name]), row.id);
  const recent = recentOf(row.last_at);
  if (recent === row.recent) return;
  row.recent = recent;
  db.run('UPDATE sessions SET recent = ? WHERE id = ?', recent, row.id);
}

/** The part of a time that lists are ordered by first; within a second the whole time decides. */
export function recentOf(lastAt: string): string {
  return lastAt.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
}

export interface PlacedEntry {
  readonly id: string;
  readonly parentId: string | null;
  readonly seq: number;
  readonly timestamp: string;
  /** Finds the seq of an entry of this session by its id. */
  readonly seqOf: (id: string) => number | undefined;
}

/** Applies one stored entry to its row. */
export function applyFacts(row: SessionState, facts: EntryFacts, at: PlacedEntry): void {
  row.seq = at.seq;
  row.last_at = at.timestamp;
  if (facts.role !== undefined) row.message_count++;
  if (facts.role === 'user') {
    row.turn_count++;
    if (row.title === '') row.title = titleFrom(facts.userText ?? '');
  }
  if (facts.tokens !== undefined) row.token_estimate = facts.tokens;
  if (facts.name !== undefined && facts.name !== '') row.title = titleFrom(facts.name);
  if (facts.settings !== undefined) applySettings(row, facts.settings);
  if (facts.status !== undefined) row.status = facts.status;
  if (facts.leafMove === true) moveLeaf(row, at);
  else if (!facts.side) row.leaf = at.id;
  if (facts.firstKept !== undefined) {
    const kept = at.seqOf(facts.firstKept);
    row.context_seq = kept !== undefined && kept < at.seq ? kept : at.seq;
    row.context_compaction = at.seq;
  }
}

/**
 * After a compaction everything hangs below it, and the context starts at its first kept entry. Standing at an
 * earlier entry again means standing before that compaction: then the whole history may be needed.
 */
function moveLeaf(row: SessionState, { parentId, seqOf }: PlacedEntry): void {
  row.leaf = parentId;
  const seq = parentId === null ? 0 : (seqOf(parentId) ?? 0);
  if (row.context_compaction > 0 && seq >= row.context_compaction) return;
  row.context_seq = 1;
  row.context_compaction = 0;
}

/** Our ids are their line's number in disguise; only lines of other tools need a look into a table. */
export function seqFinder(db: Database, row: SessionRow): (id: string) => number | undefined {
  return (id) => {
    const foreign = db.row<{ seq: number }>(
      'SELECT seq FROM foreign_lines WHERE session_id = ? AND entry_id = ? ORDER BY seq DESC LIMIT 1',
      row.id,
      id,
    );
    if (foreign !== undefined) return foreign.seq;
    const q = seqForEntryId(id);
    return q === undefined || q < 2 || q > row.q ? undefined : seqOfOwn(q, foreignSeqs(db, row));
  };
}

/** Seqs of foreign lines, ascending; empty for nearly every session. */
export function foreignSeqs(db: Database, { id, seq, q }: SessionRow): number[] {
  if (seq === q) return [];
  return db
    .rows<{ seq: number }>('SELECT seq FROM foreign_lines WHERE session_id = ? ORDER BY seq', id)
    .map((row) => row.seq);
}

/** The seq of our own line `q`: one more for every foreign line that was known before it. */
export function seqOfOwn(q: number, foreign: readonly number[]): number {
  let before = 0;
  while (before < foreign.length && (foreign[before] ?? 0) <= q + before) before++;
  return q + before;
}

function applySettings(row: SessionState, patch: JsonObject): void {
  const settings = new Map(Object.entries(JSON.parse(row.settings) as JsonObject));
  patchSettings(settings, patch);
  const label = settings.get('label');
  row.settings = JSON.stringify(Object.fromEntries(settings));
  row.label = typeof label === 'string' ? label : null;
}

export function toRecord(db: Database, row: SessionRow): SessionRecord {
  const active = db.row<{ session_id: string }>('SELECT session_id FROM active WHERE key = ?', row.key);
  return recordOf(row, active?.session_id === row.id);
}

export function recordOf(row: SessionState, isActive: boolean): SessionRecord {
  return {
    id: row.id,
    agentId: row.agent_id,
    sessionKey: row.key,
    title: row.title,
    ...(row.label !== null && { label: row.label }),
    status: row.status,
    active: isActive,
    messageCount: row.message_count,
    turnCount: row.turn_count,
    tokenEstimate: row.token_estimate,
    createdAt: row.created_at,
    lastAt: row.last_at,
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    lastSeq: row.seq,
    leaf: row.leaf,
    epoch: row.epoch,
    settings: JSON.parse(row.settings) as JsonObject,
    ...(row.corrupt_at !== null && { corruptAt: row.corrupt_at }),
  };
}
