import { closeSync, constants, mkdirSync, openSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isSessionId, parseAgentId } from '../../keys/ids.ts';
import { decodeLine } from '../../transcript/line.ts';
import { adoptLines, EPOCH_JUMP, insertFromHeader } from './adopt.ts';
import type { Database } from './database.ts';
import { findSession, saveSession } from './session-row.ts';
import { endLine, readRange, sizeOf, syncData, type TranscriptFiles, truncate } from './transcript-files.ts';

const HEADER_BYTES = 4096;

/**
 * Finds transcripts the index does not know and takes them in: after a lost, damaged or older control.db, and for
 * files somebody put there. Transcripts are only read; what a torn append left goes to quarantine.
 */
export function adoptUnknownTranscripts(db: Database, files: TranscriptFiles, home: string): void {
  const found = transcriptsIn(home);
  // Counting is enough on an ordinary day: nobody opens ten thousand files to learn that all is well.
  const known = db.row<{ n: number }>('SELECT count(*) AS n FROM sessions WHERE file_size > 0')?.n ?? 0;
  if (found.length <= known) return;
  for (const { agentId, id } of found) {
    if (findSession(db, id) !== undefined) continue;
    // Left by a purge that was cut short between its commit and the removal.
    if (db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined) files.remove(files.path(agentId, id));
    else adoptFile(db, files, { id, agentId });
  }
}

interface Owner {
  readonly id: string;
  readonly agentId: string;
}

function transcriptsIn(home: string): Owner[] {
  return foldersIn(join(home, 'agents'))
    .filter(isAgentId)
    .flatMap((agentId) =>
      filesIn(join(home, 'agents', agentId, 'sessions'))
        .filter((name) => name.endsWith('.jsonl'))
        .map((name) => ({ agentId, id: name.slice(0, -'.jsonl'.length) })),
    )
    .filter(({ id }) => isSessionId(id));
}

function adoptFile(db: Database, files: TranscriptFiles, owner: Owner): void {
  const path = files.path(owner.agentId, owner.id);
  const fd = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW);
  try {
    const size = sizeOf(fd);
    const head = readRange(fd, 0, Math.min(size, HEADER_BYTES));
    const end = head.indexOf(10);
    const header = decodeLine(end === -1 ? head : head.subarray(0, end));
    // Without our seal on its header a file is another tool's; importing it is a decision, not a repair.
    const isOurs = header.kind === 'record' && header.seal !== undefined && header.seal !== 'broken';
    if (!isOurs || header.record['id'] !== owner.id) return;
    insertFromHeader(db, header.record, owner.agentId);
    const row = findSession(db, owner.id);
    if (row === undefined) return;
    const state = { ...row };
    const { end: taken, corruptAt } = adoptLines(db, state, fd, { from: 0, to: size });
    if (taken < size) {
      files.quarantine(`${owner.id}.jsonl@${taken}`, readRange(fd, taken, size));
      truncate(fd, taken);
    }
    endLine(fd);
    syncData(fd);
    const settled = sizeOf(fd);
    state.epoch += EPOCH_JUMP;
    saveSession(db, state);
    db.run(
      'UPDATE sessions SET file_seq = seq, synced_seq = seq, file_size = ?, synced_size = ?, corrupt_at = ? WHERE id = ?',
      settled,
      settled,
      corruptAt ?? null,
      owner.id,
    );
  } finally {
    closeSync(fd);
  }
}

/** A control.db that SQLite cannot read is kept, not deleted; the transcripts make a new one. */
export function setAsideDamaged(path: string, home: string): void {
  mkdirSync(join(home, 'quarantine'), { recursive: true, mode: 0o700 });
  const stamp = new Date().toISOString().replace(/[:.]/g, '-');
  for (const suffix of ['', '-wal', '-shm']) {
    if (statSync(path + suffix, { throwIfNoEntry: false }) !== undefined) {
      renameSync(path + suffix, join(home, 'quarantine', `control.db${suffix}.${stamp}`));
    }
  }
}

function foldersIn(path: string): string[] {
  return entriesIn(path, true);
}

function filesIn(path: string): string[] {
  return entriesIn(path, false);
}

function entriesIn(path: string, folders: boolean): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => (folders ? entry.isDirectory() : entry.isFile()))
      .map(({ name }) => name)
      .sort();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isAgentId(id: string): boolean {
  try {
    return parseAgentId(id) === id;
  } catch {
    // A folder that is called like no agent is none of ours.
    return false;
  }
}
