import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { type MessageOf, message } from '../../messages/message.ts';
import { copyHistory } from '../../store/copy/copy-history.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { parseTranscript, type Transcript } from '../../transcript/reader.ts';

export interface Repaired {
  readonly repaired: string;
  readonly from: string;
  readonly entries: number;
  /** Byte offset of the damage; null if it is unknown. */
  readonly damagedAt: number | null;
}

/** Only a damaged session may be repaired: the copy takes over its key. */
export async function isDamaged(store: Store, { id, corruptAt }: SessionRecord): Promise<boolean> {
  return corruptAt !== undefined || (await store.verify(id)).status === 'corrupt';
}

/**
 * Copies everything that still verifies into a new session; the damaged one stays unchanged. If the caller passes an
 * id, a retry finds the result of the first attempt.
 */
export async function repairSession(
  store: Store,
  damaged: SessionRecord,
  { id: named }: { readonly id?: string | undefined } = {},
): Promise<Repaired> {
  const { status, findings } = await store.verify(damaged.id);
  // For a session that still works, a copy would only take its key; what was quarantined stays there.
  if (damaged.corruptAt === undefined && status !== 'corrupt')
    throw failure('INVALID_INPUT', 'session.noDamage', { sessionId: damaged.id });
  const { entries, corruptAt, header } = await readable(store, damaged.id);
  const gap = findings.find(({ kind }) => kind === 'corrupt' || kind === 'missing-lines');
  const damagedAt = damaged.corruptAt ?? corruptAt ?? gap?.offset ?? null;
  const cwd = header?.cwd;
  const { id } = await store.create({
    ...(named !== undefined && { id: named }),
    key: damaged.sessionKey,
    parentId: damaged.id,
    ...(cwd !== undefined && { cwd }),
  });
  const copied = await copyHistory(store, id, entries, { blobsFrom: { store, id: damaged.id } });
  const data = { from: damaged.id, entries: copied, damagedAt };
  await store
    .append(id, [{ type: 'custom', customType: 'reprise.repair', data }], { key: NOTED })
    .catch(unlessNoted);
  if (damaged.active) await store.activate(damaged.sessionKey, id);
  return { repaired: id, from: damaged.id, entries: copied, damagedAt };
}

const NOTED = 'repair';

/** The first attempt may have recorded another offset of the damage. */
function unlessNoted(error: unknown): void {
  if (!(error instanceof RepriseError) || error.code !== 'KEY_REUSED') throw error;
}

export function repairedMessage({ repaired: id, ...rest }: Repaired): MessageOf<'session.repaired'> {
  return message('session.repaired', { id, ...rest });
}

/** What can still be read; empty if the transcript is gone. */
async function readable(
  store: Store,
  id: string,
): Promise<Partial<Transcript> & Pick<Transcript, 'entries'>> {
  const bytes = await store.exportSession(id);
  try {
    return parseTranscript(bytes, { sessionId: id });
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
    return { entries: [], corruptAt: 0 };
  }
}
