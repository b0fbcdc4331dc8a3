import { inactiveIndexKey } from '../../keys/index-key.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { SessionDocument } from '../session-document.ts';
import { safeName } from './file-writer.ts';
import { renderSession } from './formats.ts';
import { jsonFile, type Layout, skipConvlogs } from './layout.ts';

/**
 * Reprise settings that are not fields of a SessionEntry. They remain in the transcript, where OpenClaw ignores them.
 */
const OWN_SETTINGS: ReadonlySet<string> = new Set([
  'model',
  'profile',
  'systemPrompt',
  'archived',
  'idleSince',
  'depth',
  'forkedFrom',
  'toolPolicy',
  'historyTurns',
  // In Reprise a cap on the window; in OpenClaw the size of the context.
  'contextTokens',
]);

/** Writes v3 transcripts with all branches, and per agent an index of sessions by key. */
export const writeClawdbot: Layout = async (input) => {
  const { documents, out } = input;
  const byAgent = new Map<string, [string, unknown][]>();
  for await (const document of documents) {
    const { id, agentId, key, active } = document;
    const name = transcriptName(document);
    await out.write(['agents', agentId, 'sessions', name], renderSession(document, 'v3'));
    const index = byAgent.get(agentId) ?? [];
    byAgent.set(agentId, index);
    index.push([active ? key : inactiveIndexKey(key, id), sessionEntry(document, name)]);
  }
  for (const [agentId, index] of byAgent)
    await out.write(['agents', agentId, 'sessions', 'sessions.json'], jsonFile(Object.fromEntries(index)));
  await skipConvlogs(input);
};

function transcriptName({ id, key }: SessionDocument): string {
  const parts = parseSessionKey(key);
  const last = parts.kind === 'global' ? undefined : parts.threads?.at(-1);
  return last?.marker === 'topic' ? `${id}-topic-${safeName(last.id)}.jsonl` : `${id}.jsonl`;
}

function sessionEntry(
  { id, settings, lastAt, tokenEstimate }: SessionDocument,
  sessionFile: string,
): unknown {
  const known = Object.entries(settings).filter(
    ([name]) => !OWN_SETTINGS.has(name) && !name.startsWith('x-'),
  );
  const { memoryFlushAt } = settings;
  return {
    ...Object.fromEntries(known),
    // Earlier versions stored an ISO time, and a setting still accepts one.
    ...(typeof memoryFlushAt === 'string' && { memoryFlushAt: Date.parse(memoryFlushAt) }),
    ...(tokenEstimate > 0 && { contextTokens: tokenEstimate }),
    sessionId: id,
    updatedAt: Date.parse(lastAt),
    sessionFile,
  };
}
