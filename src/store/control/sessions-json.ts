import { closeSync, constants, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isGone } from '../common/holder.ts';
import type { Database } from './database.ts';
import type { SessionRow } from './session-row.ts';
import { syncFolder, writeAll } from './transcript-files.ts';

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants;

/**
 * A readable index for people and other tools: session key to the session it stands for, by the names other
 * systems use. Written from one snapshot, whole or not at all; never read back. `agents` get one even if no key of
 * theirs stands for a session, because an older one may name a session that was purged.
 */
export function writeSessionsJson(db: Database, home: string, agents: readonly string[] = []): void {
  const rows = db.rows<SessionRow & { active_key: string }>(
    'SELECT sessions.*, active.key AS active_key FROM active JOIN sessions ON sessions.id = active.session_id ORDER BY active.key',
  );
  const byAgent = new Map<string, Record<string, unknown>>(agents.map((id) => [id, {}]));
  for (const row of rows) {
    const index = byAgent.get(row.agent_id) ?? {};
    byAgent.set(row.agent_id, index);
    Object.defineProperty(index, row.active_key, { value: toEntry(row), enumerable: true });
  }
  for (const [agentId, index] of byAgent) replaceFile(join(home, 'agents', agentId, 'sessions'), index);
}

function toEntry(row: SessionRow): Record<string, unknown> {
  return {
    sessionId: row.id,
    sessionFile: `${row.id}.jsonl`,
    updatedAt: Date.parse(row.last_at),
    createdAt: Date.parse(row.created_at),
    title: row.title,
    ...(row.label !== null && { label: row.label }),
    messageCount: row.message_count,
    tokenEstimate: row.token_estimate,
  };
}

/** Synced before and after the rename: a power cut leaves the old index or the new one, never an empty file. */
function replaceFile(folder: string, index: Record<string, unknown>): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const target = join(folder, 'sessions.json');
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
    try {
      writeAll(fd, Buffer.from(`${JSON.stringify(index, null, 2)}\n`));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, target);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(folder);
}

const HALF = /^sessions\.json\.(\d+)\.tmp$/;

/** Whether a file of this name is sessions.json on its way to be written. */
export function isHalf(name: string): boolean {
  return HALF.test(name);
}

/** Removes what a process that was killed has left half-written. */
export function removeHalves(paths: readonly string[]): void {
  for (const path of paths) {
    const pid = Number(HALF.exec(basename(path))?.[1]);
    if (!isGone(pid)) continue;
    try {
      rmSync(path, { force: true });
    } catch {
      // No permission, or a failing disk: the file does no harm, and the next open tries again.
    }
  }
}
