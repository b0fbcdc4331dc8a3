import { createHash } from 'node:crypto';
import { type FlatForm, flatRecords } from './flat-records.ts';
import { jsonFile, jsonLines, type Layout, skipConvlogs } from './layout.ts';
import { leftOutOf } from './left-out.ts';
import { type PairedHistory, pairedHistory } from './seed-messages.ts';

const CLAW0: FlatForm = { toolText: 'content', time: (iso) => Date.parse(iso) / 1000, plainAnswers: false };
const CLASSIC: FlatForm = { toolText: 'output', time: (iso) => iso, plainAnswers: true };
const ROOT = ['workspace', '.sessions'];

/**
 * One index for each agent, by session id. `session_key` is ours: claw0 keeps what it does not know, and without it a
 * way back would not find the conversation a session belongs to.
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
 * One index by session key, which names the session the key stands for; transcripts of the others lie beside it and
 * say in their header whose they are. `title` is ours.
 */
export const writeClaw0Classic: Layout = async (input) => {
  const { documents, out, leftOut, full } = input;
  const index = new Map<string, { readonly active: boolean; readonly metadata: unknown }>();
  for await (const document of documents) {
    const { key, title, active, createdAt, lastAt } = document;
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

/** 12 hex digits are the only form it makes; any other id becomes the start of its hash. */
export function classicId(id: string): string {
  if (/^[0-9a-f]{12}$/.test(id)) return id;
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

/** As it names them, `_` for `:`; whatever else no file name should have becomes `_` too, the id tells them apart. */
function classicName(key: string): string {
  return key
    .replace(/[^A-Za-z0-9._-]/g, '_')
    .replace(/^\./, '_')
    .slice(0, 150);
}
