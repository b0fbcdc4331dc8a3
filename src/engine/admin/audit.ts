import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** Where it is written what went by itself: a session of its own, so that it outlives what it tells of. */
export const AUDIT_SESSION_ID = 'reprise-audit';
const AUDIT_KEY = `agent:main:session:${AUDIT_SESSION_ID}`;

export type AuditAction = 'delete' | 'purge';

/**
 * One line before it happens; a second try at the same thing writes none. It holds no word of what was said: whoever
 * purges a conversation wants it gone.
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
    // Told before, with other figures: then it did not come to it, or was taken back.
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
