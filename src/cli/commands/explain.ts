import { explanationMessages, turnNamed } from '../../engine/commands/report.ts';
import { messagesText } from '../../messages/english.ts';
import { openLocalBackend } from '../backend/local-backend.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, print, printPage } from '../terminal/print.ts';

/** `reprise explain <ref> [turn]` */
export async function explain(ref: string, turn: string | undefined, options: Options): Promise<void> {
  await using backend = await openLocalBackend(options);
  const session = await backend.session(await backend.find(ref));
  const explanation = await session.explain(await turnNamed(session, turn ?? ''));
  if (options['json'] !== true) {
    print(escapeForTerminal(messagesText(explanationMessages(explanation))));
    return;
  }
  const { turnId, status, messages, calls } = explanation;
  printPage(calls, { lastId: turnId, turnId, status, messages });
}
