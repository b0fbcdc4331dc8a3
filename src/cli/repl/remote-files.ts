import type { ClientSession } from '../../client/index.ts';
import { parseExport } from '../../engine/commands/sessions.ts';
import { RepriseError } from '../../errors.ts';
import { writeFileSafely } from '../../interop/export/file-writer.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import { message } from '../../messages/message.ts';
import { formatByName, tellDamage } from '../export-file.ts';
import { copyToClipboard } from '../terminal/clipboard.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';

/** Of the newest rows. */
const NEWEST = 60;

export async function copyLast(session: ClientSession): Promise<void> {
  const { data } = await session.history({ limit: NEWEST });
  const text = data.findLast((row) => row.role === 'assistant' && row.text.trim() !== '')?.text;
  if (text === undefined) throw failure('NOT_FOUND', 'copy.nothing');
  if (!copyToClipboard(text)) throw failure('UNAVAILABLE', 'copy.failed');
  say(messageText(message('copy.done', { characters: text.length })));
}

export async function saveExport(session: ClientSession, args: string): Promise<void> {
  const { name, redact } = parseExport(args, session.id);
  const format = formatByName(name);
  if (format !== 'v3') throw failure('INVALID_INPUT', 'cli.serverFormat', { format });
  await writeFileSafely(name, await exportWhole(session, redact));
  say(`Written to ${escapeForTerminal(name)} as ${format}.`);
}

/** As in a home: damage is printed, and the rest is exported. */
async function exportWhole(session: ClientSession, redact: boolean): Promise<Uint8Array> {
  try {
    return await session.export({ redact });
  } catch (error) {
    const lostParts = error instanceof RepriseError ? error.details['lost'] : undefined;
    if (typeof lostParts !== 'number') throw error;
    const bytes = await session.export({ redact, lost: 'preview' });
    tellDamage({ id: session.id, corruptAt: undefined, lostParts });
    return bytes;
  }
}
