import { RepriseError } from '../errors.ts';
import { exportParts } from '../store/copy/export-parts.ts';
import { loadBlobs } from '../store/copy/load-blobs.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import { blobNames, hydrateBlobs } from '../transcript/blobs.ts';
import { type Entry, entryTime, type SessionHeader } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { readTranscript, type Transcript } from '../transcript/reader.ts';
import { redactEntry } from '../transcript/redact/redact.ts';

/** One session as exports see it: whole, with everything that is kept beside its lines put back. */
export interface SessionDocument {
  readonly id: string;
  readonly agentId: string;
  readonly key: string;
  /** What people call it: the title somebody gave it, else its label, else its first words. */
  readonly title: string;
  readonly settings: JsonObject;
  /** Whether the key stands for this session. */
  readonly active: boolean;
  readonly messageCount: number;
  readonly tokenEstimate: number;
  /** When it was said, not when a copy of it was stored. */
  readonly createdAt: string;
  readonly lastAt: string;
  readonly header: SessionHeader;
  readonly entries: readonly Entry[];
  /** Byte offset of damage: what stands behind it and still verifies is here, the rest is lost. */
  readonly corruptAt: number | undefined;
  /** Images and large texts that are gone or damaged; their previews stand for them. */
  readonly lostParts: number;
}

export async function loadDocument(store: Store, record: SessionRecord): Promise<SessionDocument> {
  const { id, agentId, sessionKey, label, title, settings, active, messageCount, tokenEstimate } = record;
  const { header, entries, corruptAt } = await readAll(store, record);
  const blobs = await loadBlobs(store, id, entries);
  const whole = hydrateBlobs(entries, blobs);
  const said = whole.filter(({ type }) => type === 'message').map(entryTime);
  const { importedFrom: _, ...chosen } = settings;
  return {
    id,
    agentId,
    key: sessionKey,
    title: whole.some(({ type }) => type === 'session_info') ? title : (label ?? title),
    settings: chosen,
    active,
    messageCount,
    tokenEstimate,
    createdAt: said[0] ?? record.createdAt,
    lastAt: said.at(-1) ?? record.lastAt,
    // A long key is not in the header line; elsewhere nothing else would say it.
    header: { ...(header ?? { type: 'session', version: 3, id }), agentId, key: sessionKey },
    entries: whole,
    corruptAt: record.corruptAt ?? corruptAt,
    lostParts: blobNames(entries).size - blobs.size,
  };
}

/** What is damaged where nobody knew of it comes whole, with all that still verifies. */
async function readAll(store: Store, record: SessionRecord): Promise<Transcript> {
  const options = { sessionId: record.id };
  try {
    return await readTranscript(exportParts(store, record), options);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== 'STORE_CORRUPT') throw error;
    return readTranscript([await store.exportSession(record.id)], options);
  }
}

/** Secrets in everything that was said, called or named become as many asterisks. Images keep their bytes. */
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
