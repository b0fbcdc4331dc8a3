import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { blobHash, blobNames, hydrateBlobs } from '../../transcript/blobs.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { readTranscript } from '../../transcript/reader.ts';
import { problemsOf, type ReadSession } from './source.ts';
import { firstBytes, listFolder, readBytes, readDocument } from './source-files.ts';

/** Reads a transcript of any dialect. Lines that are not records are counted as problems. */
export async function readTranscriptFile(
  path: string,
  { mayBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
): Promise<ReadSession> {
  const start = (await firstBytes(path, RECOGNIZED_BY_BYTES)).toString('utf8');
  if (start.startsWith(BACKUP_START)) throw asBackup(path);
  try {
    const { header, entries, issues, corruptAt } = await readTranscript(readBytes(path));
    const problems = problemsOf(issues);
    if (corruptAt !== undefined) problems.push(`damaged at byte ${corruptAt}; what still verifies is taken`);
    return { header, entries: await withBlobs(path, entries), problems };
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'INVALID_INPUT') throw error;
    // A session that was created and has no messages.
    if (mayBeEmpty && error.details['lines'] === 0) return { header: undefined, entries: [], problems: [] };
    const lines = Number(error.details['lines'] ?? 0);
    throw failure(
      'INVALID_INPUT',
      'import.notTranscript',
      { path, lines },
      { details: { lines }, cause: error },
    );
  }
}

/** A backup contains the lines of many sessions; read as a transcript they would become one session. */
const BACKUP_START = '{"kind":"backup",';

/** Enough for the first lines of any tool, to recognize a file without reading all of it. */
const RECOGNIZED_BY_BYTES = 256 * 1024;

function asBackup(path: string): RepriseError {
  return failure('INVALID_INPUT', 'import.ownBackup', { path });
}

/**
 * Large parts of Reprise sessions are blobs in a folder next to the file. A missing or damaged blob is reported as
 * lost.
 */
async function withBlobs(path: string, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const names = blobNames(entries);
  if (names.size === 0) return entries;
  const folder = path.replace(/\.jsonl$/, '.blobs');
  const present = new Set((await listFolder(folder)).files);
  const blobs = new Map<string, Uint8Array>();
  for (const name of names) {
    const hash = blobHash(name);
    if (!present.has(hash)) continue;
    const chunks: Uint8Array[] = [];
    for await (const chunk of readBytes(join(folder, hash))) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    if (createHash('sha256').update(bytes).digest('hex') === hash) blobs.set(name, bytes);
  }
  return hydrateBlobs(entries, blobs);
}

/** @returns undefined if the file is not a JSON export of Reprise. */
export async function readJsonExport(path: string, mark: string): Promise<ReadSession | undefined> {
  const value = await readDocument(path);
  if (!isObject(value) || value['format'] !== mark || !Array.isArray(value['entries'])) return undefined;
  const header = isObject(value['header']) ? { ...value['header'], type: 'session' as const } : undefined;
  const all: readonly unknown[] = value['entries'];
  const entries = all.filter(isEntry);
  const problems =
    entries.length === all.length ? [] : [`${all.length - entries.length} entries are not valid`];
  return { header, entries, problems };
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value)) return false;
  const { type, id, parentId, timestamp } = value;
  const isPlaced = parentId === null || typeof parentId === 'string';
  return [type, id, timestamp].every((each) => typeof each === 'string') && isPlaced;
}
