import { createHash } from 'node:crypto';
import { type FlatForm, flatRecords } from './flat-records.ts';
import { jsonFile, jsonLines, type Layout, skipConvlogs } from './layout.ts';
import { leftOutOf } from './left-out.ts';
import { classicKey } from './original-key.ts';
import { type PairedHistory, pairedHistory } from './seed-messages.ts';

const CLAW0: FlatForm = { toolText: 'content', time: (iso) => Date.parse(iso) / 1000, plainAnswers: false };
const CLASSIC: FlatForm = { toolText: 'output', time: (iso) => iso, plainAnswers: true };
const ROOT = ['workspace', '.sessions'];

/**
 * Writes one index per agent, by session id. `session_key` is an extra field: claw0 keeps unknown fields, and a later
 * import needs it to find the conversation of a session.
 */
export const writeClaw0: Layout = async (input) => {
  const { documents, out, leftOut, full } = input;
  const byAgent = new Map<string, [string, unknown][]>();
  for await (const document of documents) {
    const { id, agentId, key, title, createdAt, lastAt } = document;
    const history = pairedHistory(document.entries, full);
    const records = flatRecords(history.messages, CLAW0);
    leftOut.addSession(id, leftOutOf(document, writtenOf(history)));
    await out.write([...ROOT, 'agents', agentId, 'sessions', `${id}.jsonl`], jsonLines(records));
    const index = byAgent.get(agentId) ?? [];
    byAgent.set(agentId, index);
    const counts = { created_at: createdAt, last_active: lastAt, message_count: records.length };
    index.push([id, { label: title, ...counts, session_key: key }]);
  }
  for (const [agentId, index] of byAgent)
    await out.write([...ROOT, 'agents', agentId, 'sessions.json'], jsonFile(Object.fromEntries(index)));
  await skipConvlogs(input);
};

/**
 * Writes one index by session key, with the current session of each key. Transcripts of other sessions are next to it
 * and have their key in the header. `title` is an extra field.
 */
export const writeClaw0Classic: Layout = async (input) => {
  const { documents, out, leftOut, full } = input;
  const index = new Map<string, { readonly active: boolean; readonly metadata: unknown }>();
  for await (const document of documents) {
    const { title, active, createdAt, lastAt } = document;
    const short = classicKey(document);
    // Two conversations of an owner may have had one key.
    const key = active && index.get(short)?.active === true ? document.key : short;
    const id = classicId(document.id);
    const file = `${classicName(key)}_${id}.jsonl`;
    const history = pairedHistory(document.entries, full);
    const records = flatRecords(history.messages, CLASSIC);
    leftOut.addSession(document.id, leftOutOf(document, writtenOf(history)));
    const header = { type: 'session', id, key, created: createdAt };
    await out.write([...ROOT, 'transcripts', file], jsonLines([header, ...records]));
    if (index.has(key) && !active) continue;
    index.set(key, {
      active,
      metadata: {
        session_key: key,
        session_id: id,
        created_at: createdAt,
        updated_at: lastAt,
        message_count: records.length,
        transcript_file: file,
        title,
      },
    });
  }
  const entries = [...index].map(([key, { metadata }]): [string, unknown] => [key, metadata]);
  await out.write([...ROOT, 'sessions.json'], jsonFile(Object.fromEntries(entries)));
  await skipConvlogs(input);
};

function writtenOf({ messages, ...history }: PairedHistory): Parameters<typeof leftOutOf>[1] {
  return { ...history, messages: messages.map(({ message }) => message) };
}

/** claw0 classic only creates ids of 12 hex digits; any other id becomes the start of its hash. */
export function classicId(id: string): string {
  if (/^[0-9a-f]{12}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

/**
 * The file name of a key, with `_` for `:` as in claw0 classic, and for other characters unsafe in file names; the id
 * keeps names distinct.
 */
function classicName(key: string): string {
  return key
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^\./, '_')
    .slice(0, 150);
}
