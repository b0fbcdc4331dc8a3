import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { checkClientFile } from '../interop/export/clients/check-client-file.ts';
import { CLIENT_EXPORTS, type ClientSession } from '../interop/export/clients/client-export.ts';
import type { ClientName } from '../interop/export/clients/tool-names.ts';
import { writeFileSafely } from '../interop/export/file-writer.ts';
import { loadDocument, redactDocument, type SessionDocument } from '../interop/session-document.ts';
import { failure } from '../messages/failure.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import { tellDamage } from './export-file.ts';

/** A complete session, with a notice about what could not be read. */
export async function documentOf(
  store: Store,
  record: SessionRecord,
  redact = false,
): Promise<SessionDocument> {
  const document = await loadDocument(store, record);
  tellDamage(document);
  return redact ? redactDocument(document) : document;
}

/** The session under a new id, in its own folder if that still exists. */
export function newClientSession(
  { header }: SessionDocument,
  { full, cwd }: { readonly full: boolean; readonly cwd?: string | undefined },
): ClientSession {
  const own = header.cwd !== undefined && isFolder(header.cwd) ? header.cwd : process.cwd();
  return { id: randomUUID(), cwd: cwd === undefined ? own : resolve(cwd), now: new Date(), full };
}

function isFolder(path: string): boolean {
  return path !== '' && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Writes the file, reads it back, and removes it if it does not contain the whole conversation. */
export async function writeClientFile(
  document: SessionDocument,
  session: ClientSession,
  {
    client,
    file,
    force = false,
  }: { readonly client: ClientName; readonly file: string; readonly force?: boolean },
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFileSafely(file, CLIENT_EXPORTS[client].write(document, session), { force });
  const missing = await checkClientFile(document, session, { client, file });
  if (missing === 0) return;
  await rm(file);
  throw failure('INTERNAL', 'export.notReadBack', { file, missing });
}
