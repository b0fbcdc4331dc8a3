import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import type { Importer, Machine, OpenSource } from './importer.ts';
import { IMPORTERS } from './importers.ts';
import type { FoundSession } from './source.ts';
import { listFolder, realPath } from './source-files.ts';

/** A folder of a tool that exists on this machine. */
export interface MachinePlace {
  readonly importer: Importer;
  readonly path: string;
}

/** The tools that have a known place on a machine, for `--only`. */
export function knownTools(): readonly string[] {
  const machine = { home: '/', env: {} };
  return [...new Set(IMPORTERS.filter((each) => each.places(machine).length > 0).map(({ tool }) => tool))];
}

/** Looks in the known folders of every tool, or of some. */
export async function findPlaces(
  machine: Machine,
  only?: readonly string[],
): Promise<readonly MachinePlace[]> {
  const found: MachinePlace[] = [];
  const seen = new Set<string>();
  for (const importer of IMPORTERS) {
    if (only !== undefined && !only.includes(importer.tool)) continue;
    for (const place of importer.places(machine)) {
      const path = await realPath(place).catch(() => undefined);
      if (path === undefined || seen.has(`${importer.name} ${path}`)) continue;
      seen.add(`${importer.name} ${path}`);
      const folder = await listFolder(path);
      const isFolder = folder.files.length + folder.folders.length > 0;
      const candidate = {
        path,
        folder: isFolder ? folder : undefined,
        lines: [],
        start: '',
        tables: undefined,
      };
      // A place that is one file is the database of its tool.
      if (!isFolder || (await importer.detect(candidate))) found.push({ importer, path });
    }
  }
  return found;
}

/** Opens several places as one source. What cannot be opened is a problem, and the others are imported. */
export async function openPlaces(places: readonly MachinePlace[]): Promise<OpenSource> {
  const opened: OpenSource[] = [];
  const problems: string[] = [];
  for (const { importer, path } of places) {
    try {
      opened.push(await importer.list(path));
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      problems.push(`${importer.name}: ${error.message}`);
    }
  }
  return mergeSources(opened, problems);
}

/** One source of several, with each session once. */
export function mergeSources(sources: readonly OpenSource[], problems: readonly string[] = []): OpenSource {
  const kinds = [...new Set(sources.filter(({ sessions }) => sessions.length > 0).map(({ kind }) => kind))];
  const seen = new Set<string>();
  const isFirst = ({ place, id }: FoundSession): boolean => {
    const name = JSON.stringify([place, id]);
    return !seen.has(name) && seen.add(name) !== undefined;
  };
  return {
    kind: kinds.join(', '),
    sessions: sources.flatMap(({ sessions }) => sessions).filter(isFirst),
    convlogs: sources.flatMap(({ convlogs }) => convlogs),
    problems: [...problems, ...sources.flatMap((each) => each.problems)],
    [Symbol.asyncDispose]: async () => {
      for (const source of sources) await source[Symbol.asyncDispose]?.();
    },
  };
}

const MAX_DEPTH = 6;

/** Changes when any file in a folder is written, added or removed. Only names, sizes and times are read. */
export async function treeStamp(path: string): Promise<string> {
  const hash = createHash('sha256');
  const visit = async (at: string, depth: number): Promise<void> => {
    const { files, folders } = await listFolder(at);
    if (files.length + folders.length === 0) await add(at);
    for (const name of files) await add(join(at, name));
    if (depth > 0) for (const name of folders) await visit(join(at, name), depth - 1);
  };
  const add = async (file: string): Promise<void> => {
    try {
      const { size, mtimeMs, ino } = await lstat(file);
      hash.update(`${file} ${ino} ${size} ${mtimeMs}\n`);
    } catch {
      // It was removed while the folder was read; the next look sees that.
    }
  };
  await visit(path, MAX_DEPTH);
  return hash.digest('hex');
}
