import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** The session that records automatic deletions. It is separate, so that it outlives the sessions it names. */
export const AUDIT_SESSION_ID = 'reprise-audit';
const AUDIT_KEY = `agent:main:session:${AUDIT_SESSION_ID}`;

export type AuditAction = 'delete' | 'purge';

/**
 * Writes one line before the deletion; a retry of the same deletion writes none. The line contains no text of the
 * conversation, because a purge must remove all of it.
 */
export async function writeAudit(
  store: Store,
  action: AuditAction,
  { id, sessionKey, lastSeq, lastAt }: SessionRecord,
  why: JsonObject,
): Promise<void> {
  const data = { action, sessionId: id, sessionKey, lastAt, lastSeq, ...why };
  const line = { type: 'custom', customType: 'reprise.audit', data };
  const key = `${action}-${id}-${lastSeq}`;
  try {
    await store.append(AUDIT_SESSION_ID, [line], { key });
  } catch (error) {
    const code = error instanceof RepriseError ? error.code : undefined;
    // The line was written before with other figures; that deletion did not happen or was undone.
    if (code === 'KEY_REUSED') return;
    if (code !== 'SESSION_NOT_FOUND') throw error;
    await store.create({
      id: AUDIT_SESSION_ID,
      key: AUDIT_KEY,
      settings: { archived: true, label: 'audit' },
    });
    await store.append(AUDIT_SESSION_ID, [line], { key });
  }
}
