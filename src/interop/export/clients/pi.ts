import type { Entry } from '../../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import { pathEntries } from '../../../transcript/tree.ts';
import type { SessionDocument } from '../../session-document.ts';
import { unsummed } from '../formats.ts';
import { v3Lines } from '../v3.ts';
import type { ClientSession } from './client-export.ts';
import { callFor } from './tool-names.ts';

/** The current branch in pi's own format, which is ours. pi decides itself which thinking its model may see. */
export function* piLines(
  document: SessionDocument,
  { id, cwd, now, full }: ClientSession,
): Generator<string> {
  const path = full ? unsummed(document.entries) : chained(pathEntries(document.entries));
  const { seal: _, key: _key, agentId: _agent, ...header } = document.header;
  const reprise = { session: document.id, leaf: document.entries.at(-1)?.id ?? null };
  yield* v3Lines({
    ...document,
    // pi reads the first 512 bytes of a file to list it.
    header: { ...header, version: 3, id, timestamp: now.toISOString(), cwd, ...{ reprise } },
    entries: path.map(renamed),
  });
}

const NO_USAGE = {
  ...{ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Each entry below the one before it: side entries and left branches are gone. */
function chained(path: readonly Entry[]): Entry[] {
  return path.map((entry, i) => ({ ...entry, parentId: path[i - 1]?.id ?? null }));
}

function renamed(entry: Entry): Entry {
  const { type, message } = entry;
  if (type !== 'message' || !isObject(message) || !Array.isArray(message['content'])) return entry;
  const content = (message['content'] as readonly unknown[]).map((block) => {
    if (!isObject(block) || block['type'] !== 'toolCall' || !isObject(block['arguments'])) return block;
    const { name, input } = callFor('pi', String(block['name']), block['arguments']);
    return { ...block, name, arguments: input } as JsonObject;
  });
  const { toolName, role, usage } = message;
  const named = typeof toolName === 'string' ? { toolName: callFor('pi', toolName, {}).name } : {};
  // pi adds up the usage of every answer.
  const counted = role === 'assistant' && !isObject(usage) ? { usage: NO_USAGE } : {};
  return { ...entry, message: { ...message, content, ...named, ...counted } };
}
