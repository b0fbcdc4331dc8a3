import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Store } from '../../../src/store/port/store.ts';
import { entryIdForSeq } from '../../../src/transcript/entry-id.ts';
import { sealJson } from '../../../src/transcript/seal.ts';

export interface SealedSession {
  readonly id: string;
  /** By default `main`. */
  readonly agentId?: string;
  readonly key?: string;
  readonly messages: number;
  /** Of a line, about. */
  readonly bytes?: number;
  /** A compaction at the end leaves so many messages in the context. */
  readonly keep?: number;
  /** The time of all messages; by default one moment of 2025. */
  readonly at?: string;
  /** What a message says besides its number. */
  readonly say?: (number: number) => string;
  /** The time of each message, if they differ. */
  readonly saidAt?: (number: number) => string;
}

const BLOCK = 4 * 1024 * 1024;
const TIME = '2025-01-01T00:00:00.000Z';
/** Of a line that says nothing. */
const OVERHEAD = 380;
/** What a model's answer comes with. */
const COST = '{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}';
const USAGE = `{"input":1200,"output":80,"cacheRead":0,"cacheWrite":0,"totalTokens":1280,"cost":${COST}}`;
const ANSWERED = `"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":${USAGE},"stopReason":"stop"`;
const WORDS = 'some words of a conversation about code, plans and what to do next, ';

/** Where a transcript stands in a home. */
export function transcriptPath(home: string, id: string, agentId = 'main'): string {
  return join(home, 'agents', agentId, 'sessions', `${id}.jsonl`);
}

/** Resolves when a store that was opened on such a home has taken all of it in. */
export async function takenIn(store: Store): Promise<void> {
  while ((await store.stats()).rebuilding !== undefined) await new Promise((done) => setTimeout(done, 20));
}

/**
 * Writes a transcript as the store would, turn by turn, without a store: for homes that are too large to be filled
 * by appending. A store that opens the home takes it in.
 */
export function writeSealedSession(home: string, session: SealedSession): string {
  const { id, agentId = 'main', messages, bytes = 1200, keep, at = TIME, say = () => '' } = session;
  const { saidAt = () => at } = session;
  const { key = `agent:${agentId}:direct:${id}` } = session;
  const path = transcriptPath(home, id, agentId);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fd = openSync(path, 'wx', 0o600);
  const filler = WORDS.repeat(Math.ceil(bytes / WORDS.length)).slice(0, Math.max(0, bytes - OVERHEAD));
  let block: string[] = [];
  let size = 0;
  const add = (line: string): void => {
    block.push(line, '\n');
    size += line.length;
    if (size < BLOCK) return;
    writeSync(fd, block.join(''));
    block = [];
    size = 0;
  };
  const header = { type: 'session', version: 3, id, timestamp: at, cwd: '/', key };
  add(sealJson(JSON.stringify(header), { q: 1, e: 0, b: '1/1' }));
  for (let i = 0; i < messages; i++) {
    const q = i + 2;
    const text = JSON.stringify(`message ${i} ${say(i)} ${filler}`);
    const message =
      i % 2 === 0
        ? `{"role":"user","content":${text}}`
        : `{"role":"assistant","content":[{"type":"text","text":${text}}],${ANSWERED}}`;
    add(
      sealJson(entryJson(q, saidAt(i), `"type":"message"`, `"message":${message}`), {
        q,
        e: 0,
        b: place(i, messages),
      }),
    );
  }
  if (keep !== undefined) {
    const q = messages + 2;
    const kept = entryIdForSeq(q - keep);
    const body = `"summary":"what was said before","firstKeptEntryId":"${kept}","tokensBefore":1`;
    add(sealJson(entryJson(q, at, `"type":"compaction"`, body), { q, e: 0, b: '1/1' }));
  }
  writeSync(fd, block.join(''));
  closeSync(fd);
  return path;
}

function entryJson(q: number, at: string, type: string, body: string): string {
  const parent = q === 2 ? 'null' : `"${entryIdForSeq(q - 1)}"`;
  return `{${type},"id":"${entryIdForSeq(q)}","parentId":${parent},"timestamp":"${at}",${body}}`;
}

/** Two lines to a turn; the last one of an odd number stands alone. */
function place(i: number, messages: number): string {
  return i % 2 === 0 && i === messages - 1 ? '1/1' : `${(i % 2) + 1}/2`;
}
