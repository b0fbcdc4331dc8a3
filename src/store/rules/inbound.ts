import { createHash } from 'node:crypto';
import type { RepriseError } from '../../errors.ts';
import { normalizeSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import { isObject } from '../../transcript/json.ts';
import type { Inbound, InboxGroup, InboxReceipt, Reset } from '../port/store.ts';
import { uuidv7 } from '../shared/uuid.ts';
import { checkInbound, checkLogLine } from './check-input.ts';
import type { SessionState } from './session-state.ts';

/* What every store does with an inbound message, whichever database accepts it. */

export interface ReceiveRequest extends Inbound {
  readonly inboxId: string;
  /** For a session this message may have to create. */
  readonly newSessionId: string;
}

/** A message as a writer takes it: checked, and with ids for all it may make. */
export function receiveRequest(inbound: Inbound): ReceiveRequest {
  checkInbound(inbound);
  const sessionKey = normalizeSessionKey(inbound.sessionKey);
  const log = inbound.log === undefined ? {} : { log: checkLogLine(inbound.log) };
  return { ...inbound, ...log, sessionKey, inboxId: uuidv7(), newSessionId: inbound.create?.id ?? uuidv7() };
}

/** What a message with a known key has to be equal in. */
export function inboundHash({ sessionKey, digest, body }: Inbound): string {
  return createHash('sha256')
    .update(JSON.stringify([sessionKey, digest ?? body]))
    .digest('hex')
    .slice(0, 16);
}

export function keyReused(key: string): RepriseError {
  return failure('KEY_REUSED', 'session.messageKeyReused', { key: quoted(key) }, { details: { key } });
}

/** Keys of messages are an agent's, whichever of its sessions they went to; those of the shared one are nobody's. */
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

/** What a session made by a reset takes over from the one before it. */
export function carried(
  old: Pick<SessionState, 'settings'>,
  { forget = [] }: Partial<Reset> = {},
): [string, unknown][] {
  const settings: unknown = JSON.parse(old.settings);
  return Object.entries(isObject(settings) ? settings : {}).filter(([name]) => !forget.includes(name));
}
