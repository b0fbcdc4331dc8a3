import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { blobNames, hydrateBlobs } from '../../transcript/blobs.ts';
import type { SealInput } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { decodeLine, encodeStorable } from '../../transcript/line.ts';
import { redactEntry, redactText } from '../../transcript/redact/redact.ts';
import type { SessionRecord, Store } from '../port/store.ts';
import { exportParts } from './export-parts.ts';
import { loadBlobs } from './load-blobs.ts';

type Source = Pick<Store, 'exportSession' | 'exportLines' | 'blob'>;
type Exported = Pick<SessionRecord, 'id' | 'lastSeq' | 'corruptAt'>;

export interface WholeOptions {
  /** What to do if a large part is missing or damaged: refuse the export, or keep the preview in its place. */
  readonly lost?: 'refuse' | 'preview';
  /** Mask secrets. The lines lose their seals, because a seal covers the original text. */
  readonly redact?: boolean;
  /** Aborts when the caller no longer waits. Reading stops and `ABORTED` is thrown. */
  readonly signal?: AbortSignal;
}

const LF = 10;
/** Occurs in every line that references a blob. Parsing the line decides whether it really does. */
const MARK = Buffer.from('sha256:');

/**
 * Exports a session as one self-contained file: the stored lines byte for byte, except that lines with large parts
 * stored elsewhere get them back and are sealed again. One part and one such line are in memory at a time (I-78). All
 * lines are checked before the first byte is yielded: the client notices a refusal, but a file that breaks off midway
 * only looks short.
 */
export async function* wholeParts(
  store: Source,
  record: Exported,
  { lost = 'refuse', redact = false, signal }: WholeOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const isStrict = lost === 'refuse';
  if (isStrict) await refuseLost(store, record, signal);
  for await (const part of exportParts(store, record))
    for await (const lines of withBlobs(store, record, part, isStrict))
      yield redact ? redactedLines(lines) : lines;
}

function redactedLines(bytes: Uint8Array): Uint8Array {
  const lines: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const lf = bytes.indexOf(LF, from);
    const to = lf === -1 ? bytes.length : lf;
    lines.push(redactedLine(bytes.subarray(from, to)), lf === -1 ? '' : '\n');
    from = to + 1;
  }
  return Buffer.from(lines.join(''));
}

function redactedLine(bytes: Uint8Array): string {
  const line = decodeLine(bytes);
  if (line.kind !== 'record') return redactText(Buffer.from(bytes).toString());
  const { seal: _seal, ...record } = line.record;
  return JSON.stringify(redactEntry(record));
}

/** Fills in the blobs of one part. Lines without blobs stay together; each line with blobs is yielded separately. */
async function* withBlobs(
  store: Source,
  { id }: Exported,
  part: Uint8Array,
  isStrict: boolean,
): AsyncGenerator<Uint8Array, void, undefined> {
  let given = 0;
  for (const { from, to, record, seal, names } of namingLines(part)) {
    const blobs = await loadBlobs(store, id, [record]);
    // The blob disappeared after the first check.
    if (isStrict && blobs.size < names.size) throw lostParts(id, [...names.difference(blobs)]);
    if (blobs.size === 0) continue;
    if (from > given) yield part.subarray(given, from);
    yield Buffer.from(lineOf(hydrateBlobs([record], blobs)[0] ?? record, seal));
    given = to;
  }
  if (given < part.length) yield given === 0 ? part : part.subarray(given);
}

async function refuseLost(store: Source, session: Exported, signal: AbortSignal | undefined): Promise<void> {
  const seen = new Set<string>();
  const lost: string[] = [];
  for await (const part of exportParts(store, session)) {
    assertAwaited(session, signal);
    for (const { record, names } of namingLines(part)) {
      if (names.isSubsetOf(seen)) continue;
      const blobs = await loadBlobs(store, session.id, [record]);
      for (const name of names.difference(seen)) {
        seen.add(name);
        if (!blobs.has(name)) lost.push(name);
      }
      assertAwaited(session, signal);
    }
  }
  if (lost.length > 0) throw lostParts(session.id, lost);
}

function assertAwaited({ id }: Exported, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw failure('ABORTED', 'export.stopped', { id });
}

interface NamingLine {
  /** Byte offsets of this line and of the next one. */
  readonly from: number;
  readonly to: number;
  readonly record: JsonObject;
  readonly seal: SealInput | undefined;
  readonly names: ReadonlySet<string>;
}

/** Yields the lines that reference blobs. A line with a broken seal is damaged and is left as it is. */
function* namingLines({ buffer, byteOffset, length }: Uint8Array): Generator<NamingLine> {
  const bytes = Buffer.from(buffer, byteOffset, length);
  for (let at = bytes.indexOf(MARK); at !== -1; ) {
    const from = bytes.lastIndexOf(LF, at) + 1;
    const lf = bytes.indexOf(LF, at);
    const to = lf === -1 ? length : lf + 1;
    const line = decodeLine(bytes.subarray(from, lf === -1 ? length : lf));
    if (line.kind === 'record' && line.seal !== 'broken') {
      const { record, seal } = line;
      const names = blobNames([record]);
      if (names.size > 0) yield { from, to, record, seal, names };
    }
    at = bytes.indexOf(MARK, to);
  }
}

/** The line as it would be stored with its large parts inline. A line of another tool has no seal and gets none. */
function lineOf(record: JsonObject, seal: SealInput | undefined): string {
  return seal === undefined ? `${JSON.stringify(record)}\n` : encodeStorable(record, seal);
}

function lostParts(id: string, blobs: readonly string[]): RepriseError {
  return failure(
    'STORE_CORRUPT',
    'session.lostParts',
    { id, parts: blobs.length },
    { details: { id, lost: blobs.length, blobs: blobs.slice(0, SHOWN) } },
  );
}

const SHOWN = 20;
