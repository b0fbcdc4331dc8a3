import { RepriseError } from '../errors.ts';
import { exportParts } from '../store/copy/export-parts.ts';
import { loadBlobs } from '../store/copy/load-blobs.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import { blobNames, hydrateBlobs } from '../transcript/blobs.ts';
import { type Entry, entryTime, type SessionHeader } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
import { readTranscript, type Transcript } from '../transcript/reader.ts';
import { redactEntry } from '../transcript/redact/redact.ts';

/** One complete session for exports, with all blobs inserted. */
export interface SessionDocument {
  readonly id: string;
  readonly agentId: string;
  readonly key: string;
  /** Its key in the system that it was imported from, if that key was a different one. */
  readonly sourceKey: string | undefined;
  /** The display name: the title that the user set, otherwise the label, otherwise the first words. */
  readonly title: string;
  readonly settings: JsonObject;
  /** Whether it is the current session of its key. */
  readonly active: boolean;
  readonly messageCount: number;
  readonly tokenEstimate: number;
  /** When the message was written, not when a copy of it was stored. */
  readonly createdAt: string;
  readonly lastAt: string;
  readonly header: SessionHeader;
  readonly entries: readonly Entry[];
  /** Byte offset of damage. Lines after it that can be verified are included; the rest is lost. */
  readonly corruptAt: number | undefined;
  /** Number of images and large texts that are missing or damaged; their previews are included. */
  readonly lostParts: number;
}

export async function loadDocument(store: Store, record: SessionRecord): Promise<SessionDocument> {
  const { id, agentId, sessionKey, label, title, settings, active, messageCount, tokenEstimate } = record;
  const { header, entries, corruptAt } = await readAll(store, record);
  const blobs = await loadBlobs(store, id, entries);
  const whole = hydrateBlobs(entries, blobs);
  const said = whole.filter(({ type }) => type === 'message').map(entryTime);
  const { importedFrom, ...chosen } = settings;
  const sourceKey = isObject(importedFrom) ? importedFrom['key'] : undefined;
  return {
    id,
    agentId,
    key: sessionKey,
    sourceKey: typeof sourceKey === 'string' ? sourceKey : undefined,
    title: whole.some(({ type }) => type === 'session_info') ? title : (label ?? title),
    settings: chosen,
    active,
    messageCount,
    tokenEstimate,
    createdAt: said[0] ?? record.createdAt,
    lastAt: said.at(-1) ?? record.lastAt,
    // A long key is not in the stored header, so add it here.
    header: { ...(header ?? { type: 'session', version: 3, id }), agentId, key: sessionKey },
    entries: whole,
    corruptAt: record.corruptAt ?? corruptAt,
    lostParts: blobNames(entries).size - blobs.size,
  };
}

/** Reads a session completely. If damage is found only now, everything that can be verified is read. */
async function readAll(store: Store, record: SessionRecord): Promise<Transcript> {
  const options = { sessionId: record.id };
  try {
    return await readTranscript(exportParts(store, record), options);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'STORE_CORRUPT') throw error;
    return readTranscript([await store.exportSession(record.id)], options);
  }
}

/** Masks secrets in all text, tool calls and names with asterisks of the same length. Image bytes stay. */
export function redactDocument(document: SessionDocument): SessionDocument {
  const { title, settings, entries, header } = document;
  return {
    ...document,
    title: redactEntry(title) as string,
    settings: redactEntry(settings) as JsonObject,
    header: redactEntry(header) as SessionHeader,
    entries: entries.map((entry) => redactEntry(entry) as Entry),
  };
}
