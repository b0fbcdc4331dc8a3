import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { inspectJson, isObject, type JsonObject } from '../../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import type { Candidate, OpenSource } from '../importer.ts';
import { findElements, readElement } from '../json-elements.ts';
import { MAX_LINE_BYTES } from '../record-lines.ts';
import type { FoundSession, ReadSession } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';
import { unpackEntry, zipEntries } from '../zip-file.ts';

/** Data exports of ChatGPT and claude.ai: a ZIP file, its unpacked folder, or one of its lists of conversations. */
export const CONVERSATIONS: RegExp = /^conversations(?:-\d+)?\.json$/;

export function isWebExport({ folder, start }: Candidate, mark: RegExp): boolean {
  return folder === undefined && /^\s*\[\s*\{/.test(start) && mark.test(start);
}

/** How one tool describes and reads a conversation. */
export interface ConversationFormat {
  readonly tool: string;
  readonly name: string;
  readonly isConversation: (value: JsonObject) => boolean;
  readonly describe: (value: JsonObject) => Pick<FoundSession, 'id' | 'title' | 'indexedAt'>;
  readonly read: (value: JsonObject) => ReadSession;
}

export async function openWebExport(path: string, format: ConversationFormat): Promise<OpenSource> {
  const { tool, name } = format;
  const unpacked = await mkdtemp(join(tmpdir(), 'reprise-import-'));
  const dispose = (): Promise<void> => rm(unpacked, { recursive: true, force: true });
  try {
    const files = await conversationFiles(path, unpacked);
    const sessions: FoundSession[] = [];
    const problems: string[] = [];
    for (const { file, label } of files) {
      let bad = 0;
      let large = 0;
      for (const place of await findElements(file)) {
        if (place.length > MAX_LINE_BYTES * 2) large++;
        const value = place.length > MAX_LINE_BYTES * 2 ? undefined : await readElement(file, place);
        if (!isReadable(value) || !format.isConversation(value)) {
          bad++;
          continue;
        }
        sessions.push({
          ...{
            place: `${label} byte ${place.offset}`,
            tool,
            stamp: `${place.length} ${format.describe(value).indexedAt ?? ''}`,
          },
          ...format.describe(value),
          read: async () => format.read((await readElement(file, place)) as JsonObject),
        });
      }
      if (bad > 0) problems.push(`${label}: ${bad} elements are no conversations of ${name}`);
      if (large > 0)
        problems.push(`${label}: ${large} conversations are larger than 64 MB and were not read`);
    }
    sessions.sort(newestFirst);
    return {
      ...{ kind: `${name} export`, sessions, convlogs: [], problems },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function isReadable(value: unknown): value is JsonObject {
  return isObject(value) && !inspectJson(value, DEFAULT_RECORD_LIMITS.maxDepth).tooDeep;
}

async function conversationFiles(
  path: string,
  unpacked: string,
): Promise<readonly { readonly file: string; readonly label: string }[]> {
  const inFolder = (await listFolder(path)).files.filter((name) => CONVERSATIONS.test(name));
  if (inFolder.length > 0)
    return inFolder.map((name) => ({ file: join(path, name), label: join(path, name) }));
  const entries = path.endsWith('.json') ? undefined : await zipEntries(path);
  if (entries === undefined) return [{ file: path, label: path }];
  const files: { file: string; label: string }[] = [];
  for (const [i, entry] of entries.entries()) {
    if (!CONVERSATIONS.test(basename(entry.name))) continue;
    // The name in the file decides nothing about where it is unpacked.
    const file = join(unpacked, `${i}.json`);
    await unpackEntry(path, entry, file);
    files.push({ file, label: `${path} ${basename(entry.name)}` });
  }
  return files;
}
