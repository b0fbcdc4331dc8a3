import { createHash } from 'node:crypto';
import type { RepriseError } from '../../errors.ts';
import { normalizeSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import { isObject } from '../../transcript/json.ts';
import type { Inbound, InboxGroup, InboxReceipt, Reset } from '../port/inbox.ts';
import { uuidv7 } from '../shared/uuid.ts';
import { checkInbound, checkLogLine } from './check-input.ts';
import type { SessionState } from './session-state.ts';

/* Handling of inbound messages, shared by all databases. */

export interface ReceiveRequest extends Inbound {
  readonly inboxId: string;
  /** Id for the session that this message may create. */
  readonly newSessionId: string;
}

/** Checks a message and adds ids for everything that it may create. */
export function receiveRequest(inbound: Inbound): ReceiveRequest {
  checkInbound(inbound);
  const sessionKey = normalizeSessionKey(inbound.sessionKey);
  const log = inbound.log === undefined ? {} : { log: checkLogLine(inbound.log) };
  return { ...inbound, ...log, sessionKey, inboxId: uuidv7(), newSessionId: inbound.create?.id ?? uuidv7() };
}

/** Hash of the parts in which a retry with the same key must be equal. */
export function inboundHash({ sessionKey, digest, body }: Inbound): string {
  return createHash('sha256')
    .update(JSON.stringify([sessionKey, digest ?? body]))
    .digest('hex')
    .slice(0, 16);
}

export function keyReused(key: string): RepriseError {
  return failure('KEY_REUSED', 'session.messageKeyReused', { key: quoted(key) }, { details: { key } });
}

/**
 * The owner of idempotency keys: the agent, for all of its sessions. Keys of the shared global session have no agent.
 */
export function keyOwner(sessionKey: string): string {
  const parts = parseSessionKey(sessionKey);
  return parts.kind === 'global' ? '' : parts.agentId;
}

export function sessionBusy(id: string): RepriseError {
  return failure('SESSION_BUSY', 'session.busy', { id }, { details: { id } });
}

export function groupFull({ name, max = 0 }: InboxGroup): RepriseError {
  return failure(
    'LIMIT_EXCEEDED',
    'session.groupFull',
    { group: quoted(name), max },
    { details: { limit: 'group', group: name, max } },
  );
}

export interface Recipient {
  readonly id: string;
  readonly created?: NonNullable<InboxReceipt['created']>;
}

/** The settings that a session created by a reset takes over from the previous one. */
export function carried(
  old: Pick<SessionState, 'settings'>,
  { forget = [] }: Partial<Reset> = {},
): [string, unknown][] {
  const settings: unknown = JSON.parse(old.settings);
  return Object.entries(isObject(settings) ? settings : {}).filter(([name]) => !forget.includes(name));
}
