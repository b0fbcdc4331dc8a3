import { isListed } from '../../engine/admin/ref.ts';
import { sessionFacts, sessionName } from '../../engine/commands/session-line.ts';
import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { cancelled, isInteractive } from './ask.ts';
import { escapeForTerminal } from './print.ts';

/** As many as fit a list to choose from; typing filters them. */
const OFFERED = 500;
const ROWS = 12;

/** Lets the user pick a session. Without a query it offers all recent ones; if a query matches one, it asks nothing. */
export async function pickSession(store: Pick<Store, 'list'>, query?: string): Promise<SessionRecord> {
  const text = query === undefined || query === '' ? {} : { text: query };
  const { sessions } = await store.list({ limit: OFFERED, ...text });
  const offered = sessions.filter(isListed);
  const [first, ...others] = offered;
  if (first === undefined) {
    if (query === undefined || query === '') throw failure('SESSION_NOT_FOUND', 'cli.noSessions');
    throw failure('SESSION_NOT_FOUND', 'cli.noMatch', { query: quoted(query) });
  }
  if (query !== undefined && query !== '' && others.length === 0) return first;
  if (!isInteractive()) throw failure('INVALID_INPUT', 'cli.noRef');
  const { autocomplete, isCancel } = await import('@clack/prompts');
  const now = new Date();
  const chosen = await autocomplete({
    message: 'Which session?',
    options: offered.map((record) => ({
      value: record.id,
      label: escapeForTerminal(sessionName(record)),
      hint: escapeForTerminal(sessionFacts(record, now)),
    })),
    maxItems: ROWS,
    output: process.stderr,
  });
  const record = isCancel(chosen) ? undefined : offered.find(({ id }) => id === chosen);
  if (record === undefined) throw cancelled();
  return record;
}
