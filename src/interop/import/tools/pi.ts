import { basename, join } from 'node:path';
import type { Importer } from '../importer.ts';
import { stampOf } from '../record-lines.ts';
import type { FoundSession } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';
import { readTranscriptFile } from '../transcript-file.ts';

/** The pi coding agent names a folder after each working folder: `--home-ann-project--`. */
const PROJECT = /^--.*--$/;

/** Sessions of pi by their folders. A single file is a transcript like any other. */
export const pi: Importer = {
  tool: 'pi',
  name: 'pi',
  places: ({ home, env }) => [join(env['PI_CODING_AGENT_DIR'] ?? join(home, '.pi', 'agent'), 'sessions')],
  detect: ({ path, folder }) =>
    folder !== undefined &&
    (PROJECT.test(basename(path)) || folder.folders.some((name) => PROJECT.test(name))),
  async list(path) {
    const { files, folders } = await listFolder(path);
    const paths = files.filter(isTranscript).map((name) => join(path, name));
    for (const folder of folders.filter((name) => PROJECT.test(name)))
      for (const name of (await listFolder(join(path, folder))).files)
        if (isTranscript(name)) paths.push(join(path, folder, name));
    const sessions: FoundSession[] = [];
    for (const place of paths) {
      const stamp = await stampOf(place);
      const indexedAt = new Date(Number(stamp.split(':')[2])).toISOString();
      const fallbackId = basename(place, '.jsonl');
      sessions.push({
        place,
        tool: 'pi',
        stamp,
        indexedAt,
        fallbackId,
        read: () => readTranscriptFile(place, { mayBeEmpty: true }),
      });
    }
    sessions.sort(newestFirst);
    return { kind: 'pi', sessions, convlogs: [], problems: [] };
  },
  notImported: {},
};

function isTranscript(name: string): boolean {
  return name.endsWith('.jsonl');
}
