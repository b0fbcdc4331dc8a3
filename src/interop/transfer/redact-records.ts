import { createHash } from 'node:crypto';
import type { LinesRecord, TransferRecord } from '../../store/port/transfer.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { decodeLine, encodeStorable } from '../../transcript/line.ts';
import { redactEntry, redactText } from '../../transcript/redact/redact.ts';

const LF = 10;
const BLOB_NAME = /^sha256:([0-9a-f]{64})$/;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

/**
 * The records of a store with every secret in them masked. Lines get new seals and large texts get the name of their
 * new bytes, so the result restores like any other backup. Ids, keys and times stay as they are.
 */
export async function* redactRecords(records: AsyncIterable<TransferRecord>): AsyncGenerator<TransferRecord> {
  /** Of the session whose blobs came last; its lines follow them. */
  let renamed = new Map<string, string>();
  for await (const record of records) {
    switch (record.kind) {
      case 'session':
        renamed = new Map();
        yield record;
        break;
      case 'blob': {
        const bytes = redactBytes(record.bytes);
        const hash = bytes === record.bytes ? record.hash : createHash('sha256').update(bytes).digest('hex');
        if (hash !== record.hash) renamed.set(record.hash, hash);
        yield { ...record, hash, bytes };
        break;
      }
      case 'lines':
        yield redactLines(record, renamed);
        break;
      case 'item': {
        const { body, detail, ...rest } = record.item;
        const item = {
          ...rest,
          body: redactEntry(body) as JsonObject,
          ...(detail !== undefined && { detail: redactEntry(detail) as JsonObject }),
        };
        yield { ...record, item };
        break;
      }
      case 'convlog':
        yield { ...record, line: { ...record.line, content: redactText(record.line.content) } };
        break;
      default:
        yield record;
    }
  }
}

/** Text only: an image keeps its bytes, whether they stand as they are or as base64. */
function redactBytes(bytes: Uint8Array): Uint8Array {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes; // an image
  }
  if (BASE64.test(text)) return bytes;
  const redacted = redactText(text);
  return redacted === text ? bytes : Buffer.from(redacted);
}

function redactLines(record: LinesRecord, renamed: ReadonlyMap<string, string>): LinesRecord {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < record.bytes.length; ) {
    const lf = record.bytes.indexOf(LF, from);
    const to = lf === -1 ? record.bytes.length : lf + 1;
    lines.push(redactLine(record.bytes.subarray(from, to), renamed));
    from = to;
  }
  return { ...record, bytes: Buffer.concat(lines) };
}

/** The lines of a backup are those that verify, and each has its own seal. */
function redactLine(bytes: Uint8Array, renamed: ReadonlyMap<string, string>): Uint8Array {
  const line = decodeLine(bytes.subarray(0, -1));
  if (line.kind !== 'record') return Buffer.from(redactText(Buffer.from(bytes).toString()));
  const before = JSON.stringify(line.record);
  const record = withNames(redactEntry(line.record), renamed) as JsonObject;
  // A line without a secret keeps its bytes.
  if (JSON.stringify(record) === before) return bytes;
  if (line.seal === undefined || line.seal === 'broken') return Buffer.from(`${JSON.stringify(record)}\n`);
  return Buffer.from(encodeStorable(record, line.seal));
}

function withNames(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (renamed.size === 0) return value;
  if (Array.isArray(value)) return value.map((each) => withNames(each, renamed));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withNames(each, renamed)]));
  const hash = typeof value === 'string' ? renamed.get(BLOB_NAME.exec(value)?.[1] ?? '') : undefined;
  return hash === undefined ? value : `sha256:${hash}`;
}
