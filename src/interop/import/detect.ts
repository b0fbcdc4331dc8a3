import { basename, dirname, join, relative, sep } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { tablesOf } from './database-copy.ts';
import type { Candidate, Importer, OpenSource } from './importer.ts';
import { IMPORTERS } from './importers.ts';
import { mergeSources } from './machine-sources.ts';
import type { FoundSession } from './source.ts';
import { firstBytes, hasFile, listFolder, realPath } from './source-files.ts';
import { openclawDatabase } from './tools/openclaw-database.ts';
import { transcripts } from './tools/transcripts.ts';
import { CONVERSATIONS } from './tools/web-export.ts';
import { openZeroclaw } from './tools/zeroclaw.ts';
import { peekEntry, zipEntries } from './zip-file.ts';

const SQLITE_MAGIC = 'SQLite format 3\0';
const ZIP_MAGIC = 'PK';
/** Enough for the first lines of any tool, to recognize a file without reading all of it. */
const START_BYTES = 256 * 1024;
/** Files in which a tool can keep sessions. */
const MAY_BE_SOURCE = /\.(?:jsonl|json|zip|zst|db|sqlite|sqlite3)$/i;
const DATABASE_NAME = /\.(?:db|sqlite|sqlite3)$/i;
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', '.git']);
const MAX_DEPTH = 4;

/** Recognizes which tool wrote a file or folder and opens it. A folder of an unknown kind is searched. */
export async function openSource(path: string): Promise<OpenSource> {
  const real = await realPath(path);
  const folder = await listFolder(real);
  const isFolder = folder.files.length + folder.folders.length + folder.others.length > 0;
  const home = isFolder ? real : dirname(real);
  if ((isFolder || DATABASE_NAME.test(real)) && (await isInHome(home))) throw isHome(isFolder ? path : home);
  if (!isFolder) return openFile(real);
  const opened: OpenSource[] = [];
  const refused: RepriseError[] = [];
  await openFolder(real, MAX_DEPTH, opened, refused);
  const [only] = opened;
  if (only === undefined) throw refused[0] ?? failure('INVALID_INPUT', 'import.unknown', { path });
  const source = opened.length === 1 ? only : mergeSources(opened);
  const known = new Set(source.problems);
  const problems = refused.map(({ message }) => message).filter((problem) => !known.has(problem));
  return problems.length === 0 ? source : { ...source, problems: [...source.problems, ...problems] };
}

/** The tool that wrote a file; never the last one, which takes every file. */
async function detectFile(path: string): Promise<Importer | undefined> {
  const candidate = await fileCandidate(path);
  for (const importer of IMPORTERS)
    if (importer !== transcripts && (await importer.detect(candidate))) return importer;
  return undefined;
}

async function openFile(path: string): Promise<OpenSource> {
  const importer = await detectFile(path);
  if (importer !== undefined) return withContent(path, await importer.list(path));
  // It says what a database of an unknown tool is.
  if (await isDatabase(path)) return openZeroclaw(path);
  return transcripts.list(path);
}

/** A file that its tool wrote, and that has nothing to import, is refused like any other file without messages. */
function withContent(path: string, source: OpenSource): OpenSource {
  if (source.sessions.length > 0) return source;
  void source[Symbol.asyncDispose]?.();
  throw failure('INVALID_INPUT', 'import.noMessages', { path });
}

async function openFolder(
  path: string,
  depth: number,
  opened: OpenSource[],
  refused: RepriseError[],
): Promise<void> {
  const folder = await listFolder(path);
  const candidate: Candidate = { path, folder, lines: [], start: '', tables: undefined };
  const reading = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      refused.push(error);
      return undefined;
    }
  };
  for (const importer of IMPORTERS) {
    // A folder below that cannot be read does not keep another importer from recognizing this one.
    if (!(await isFrom(importer, candidate))) continue;
    const source = await importer.list(path);
    opened.push(importer === transcripts ? await withOtherTools(source) : source);
    // OpenClaw leaves the files of earlier versions beside its database.
    if (importer !== openclawDatabase) return;
  }
  for (const name of folder.files.filter((each) => MAY_BE_SOURCE.test(each))) {
    await reading(async () => {
      const importer = await detectFile(join(path, name));
      if (importer !== undefined) opened.push(await importer.list(join(path, name)));
      else if (DATABASE_NAME.test(name)) opened.push(await openZeroclaw(join(path, name)));
    });
  }
  if (depth === 0) return;
  for (const name of folder.folders.filter((each) => !SKIPPED_FOLDERS.has(each)))
    await reading(() => openFolder(join(path, name), depth - 1, opened, refused));
}

async function isFrom(importer: Importer, candidate: Candidate): Promise<boolean> {
  try {
    return await importer.detect(candidate);
  } catch (error) {
    if (error instanceof RepriseError) return false;
    throw error;
  }
}

/** A folder of transcripts can have files of other tools in it. */
async function withOtherTools(source: OpenSource): Promise<OpenSource> {
  const others: OpenSource[] = [];
  const own: FoundSession[] = [];
  for (const session of source.sessions) {
    const isFile =
      session.tool === undefined && session.place.endsWith('.jsonl') && (await hasFile(session.place));
    const importer = isFile ? await detectFile(session.place).catch(() => undefined) : undefined;
    if (importer === undefined) own.push(session);
    else others.push(await importer.list(session.place));
  }
  return others.length === 0 ? source : mergeSources([{ ...source, sessions: own }, ...others]);
}

async function fileCandidate(path: string): Promise<Candidate> {
  const bytes = await firstBytes(path, START_BYTES);
  const start = bytes.toString('utf8');
  const none = { path, folder: undefined, lines: [], start: '', tables: undefined };
  if (start.startsWith(SQLITE_MAGIC)) return { ...none, tables: await tablesOf(path) };
  if (start.startsWith(ZIP_MAGIC)) return { ...none, start: await startInZip(path) };
  if (path.endsWith('.zst')) return { ...none, start: bytes.toString('latin1') };
  return { ...none, start, lines: recordsIn(start) };
}

async function startInZip(path: string): Promise<string> {
  const entry = (await zipEntries(path))?.find(({ name }) => CONVERSATIONS.test(basename(name)));
  return entry === undefined ? '' : (await peekEntry(path, entry, START_BYTES)).toString('utf8');
}

/** A line that was cut at the end of the text is left out. */
function recordsIn(text: string): readonly JsonObject[] {
  return text.split('\n').flatMap((line) => {
    try {
      const record: unknown = JSON.parse(line);
      return isObject(record) ? [record] : [];
    } catch {
      return []; // No JSON, or the cut end: the reader reports it.
    }
  });
}

/** How many folders above the transcripts of a home its database is: agents, the agent, sessions. */
const LEVELS_IN_HOME = 3;

async function isInHome(real: string): Promise<boolean> {
  for (let home = real, level = 0; level <= LEVELS_IN_HOME; home = dirname(home), level++) {
    const isStored = level === 0 || relative(home, real).split(sep)[0] === 'agents';
    if (!isStored) continue;
    if ((await hasFile(join(home, 'control.db'))) || (await hasFile(join(home, 'store.db')))) return true;
  }
  return false;
}

async function isDatabase(path: string): Promise<boolean> {
  return (await firstBytes(path, SQLITE_MAGIC.length)).toString('latin1') === SQLITE_MAGIC;
}

function isHome(path: string): RepriseError {
  return failure('INVALID_INPUT', 'import.ownHome', { path });
}
