import {
  buildSessionContext,
  migrateSessionEntries,
  parseSessionEntries,
  type SessionEntry,
} from '@mariozechner/pi-coding-agent';
import { type NeutralContext, piContext } from './contexts.ts';

/** pi's view of a file's content. Without `leaf` it stands at the last line, as when pi opens the file. */
export function piContextOf(content: string, leaf?: string): NeutralContext {
  const lines = parseSessionEntries(content);
  migrateSessionEntries(lines);
  const entries = lines.filter((line): line is SessionEntry => line.type !== 'session');
  return piContext(buildSessionContext(entries, leaf));
}
