import { sessionName } from '../engine/commands/session-line.ts';
import { RepriseError } from '../errors.ts';
import type { SessionRecord, Store } from '../store/store.ts';

const OFFERED = 20;

/** The one session that fits; several are listed. */
export async function pickSession(store: Pick<Store, 'list'>, query?: string): Promise<SessionRecord> {
  const text = query === undefined || query === '' ? {} : { text: query };
  const { sessions } = await store.list({ limit: OFFERED, ...text });
  const [first, ...others] = sessions;
  if (first === undefined) throw new RepriseError('SESSION_NOT_FOUND', 'no session fits');
  if (others.length === 0) return first;
  const shown = sessions.map((record) => `  ${record.id}  ${sessionName(record)}`);
  throw new RepriseError('AMBIGUOUS_REF', 'which session?', {
    details: { next: `Name one with -s:\n${shown.join('\n')}` },
  });
}
