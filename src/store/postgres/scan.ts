import { blobHash } from '../../transcript/blobs.ts';
import type { LinePart, LineRange } from '../port/line-part.ts';
import type { StoreStats } from '../port/store.ts';
import type { VerifyFinding, VerifyOptions, VerifyReport } from '../port/verify-report.ts';
import { examineSession, finding } from '../rules/examine.ts';
import { verdict } from '../rules/verdict.ts';
import type { Connections, Sql } from './connection/connections.ts';
import { serverFacts } from './connection/server-facts.ts';
import { linesOf } from './lines.ts';
import { SOME_LINES } from './long-lines.ts';
import { findSession, getSession, type SessionRow } from './rows.ts';

const SESSIONS_PER_LOOK = 500;

/** Reads every line of one session or of all, and compares it with its checksum. */
export async function verifySessions(
  sql: Sql,
  { id, onProgress }: VerifyOptions & { readonly id?: string },
): Promise<VerifyReport> {
  const findings: VerifyFinding[] = [];
  let done = 0;
  const [{ n: total = 0 } = {}] = await sql.query<{ n: number }>(
    'SELECT count(*)::bigint AS n FROM reprise.sessions',
  );
  if (id !== undefined) findings.push(...(await verifySession(sql, await getSession(sql, id))));
  for (let last = ''; id === undefined; ) {
    const ids = await sql.query<{ id: string }>(
      `SELECT id FROM reprise.sessions WHERE id > $1 ORDER BY id LIMIT ${SESSIONS_PER_LOOK}`,
      [last],
    );
    for (const session of ids) {
      const row = await findSession(sql, session.id);
      if (row !== undefined) findings.push(...(await verifySession(sql, row)));
      onProgress?.(++done, total);
    }
    if (ids.length < SESSIONS_PER_LOOK) break;
    last = ids.at(-1)?.id ?? last;
  }
  return { status: verdict(findings), findings };
}

async function verifySession(sql: Sql, row: SessionRow): Promise<VerifyFinding[]> {
  const { id } = row;
  const examiner = examineSession(id);
  for await (const { line } of linesOf(sql, id, 1, row.seq)) examiner.push(Buffer.from(`${line}\n`));
  const { findings, blobs } = examiner.finish({ lines: row.seq, bytes: row.bytes });
  const inBlobs = blobs === undefined ? [] : await verifyBlobs(sql, id, blobs);
  // The session was purged during the check, so unreadable lines are not a finding.
  return (await findSession(sql, id)) === undefined ? [] : [...findings, ...inBlobs];
}

/**
 * Compares the blobs that lines reference with the stored ones. The server computes the hashes, so no blob is
 * transferred.
 */
async function verifyBlobs(sql: Sql, id: string, names: ReadonlySet<string>): Promise<VerifyFinding[]> {
  const rows = await sql.query<{ hash: string; is_whole: boolean }>(
    `SELECT hash, encode(sha256(bytes), 'hex') = hash AS is_whole FROM reprise.blobs
     WHERE session_id = $1 ORDER BY hash`,
    [id],
  );
  const kept = new Map(rows.map(({ hash, is_whole }) => [hash, is_whole]));
  const findings: VerifyFinding[] = [];
  for (const name of names) {
    const isWhole = kept.get(blobHash(name));
    if (isWhole === undefined) findings.push(finding(id, 'missing-blob', `no blob ${name}`));
    if (isWhole === false)
      findings.push(finding(id, 'corrupt-blob', `blob ${name} has other bytes than were kept`));
    kept.delete(blobHash(name));
  }
  for (const hash of kept.keys()) findings.push(finding(id, 'stray-blob', `no line names ${hash}`));
  return findings;
}

/** The stored lines in seq order, LF-terminated. */
export async function exportSession(sql: Sql, id: string): Promise<Uint8Array> {
  const { seq } = await getSession(sql, id);
  const parts: Buffer[] = [];
  for await (const { line } of linesOf(sql, id, 1, seq)) parts.push(Buffer.from(`${line}\n`));
  return Buffer.concat(parts);
}

/** Returns as many of these lines as one read should take. */
export async function exportLines(sql: Sql, id: string, range: LineRange): Promise<LinePart> {
  const { seq } = await getSession(sql, id);
  const to = Math.min(range.to, seq);
  const rows = await sql.query<{ seq: number; line: string; is_last: boolean }>(SOME_LINES, [
    id,
    range.from,
    to,
  ]);
  const last = rows.at(-1);
  return {
    bytes: Buffer.concat(rows.map(({ line }) => Buffer.from(`${line}\n`))),
    next: (last === undefined || last.is_last ? to : last.seq) + 1,
  };
}

export async function countAll(connections: Connections): Promise<StoreStats> {
  const server = await serverFacts(connections);
  const [row] = await connections.query<{ sessions: number; damaged: number; bytes: number }>(
    'SELECT count(*) AS sessions, count(corrupt_at) AS damaged, coalesce(sum(bytes), 0)::bigint AS bytes FROM reprise.sessions',
  );
  // Without transcript files nothing can be behind.
  const { sessions = 0, damaged = 0, bytes = 0 } = row ?? {};
  return { sessions, damaged, bytes, behind: 0, problems: [], ...(server !== undefined && { server }) };
}
