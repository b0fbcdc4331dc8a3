import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { entryIdForSeq } from '../../../src/transcript/entry-id.ts';
import { encodeLine } from '../../../src/transcript/line.ts';

interface TranscriptInput {
  readonly id: string;
  readonly key: string;
  readonly texts?: readonly string[];
  /** The counter of an activation of its key. */
  readonly activation?: number;
  readonly deleted?: boolean;
}

const TIME = '2026-01-02T03:04:05.000Z';

/** A transcript as the store writes it, without a store. */
export function transcript({ id, key, texts = ['hello'], activation, deleted }: TranscriptInput): string {
  const header = { type: 'session', version: 3, id, timestamp: TIME, cwd: '', agentId: 'main', key };
  const lines = [encodeLine(header, { q: 1, e: 0, b: '1/1' })];
  let leaf: string | null = null;
  const add = (record: { type: string; [name: string]: unknown }, isChain: boolean, k?: string): void => {
    const q = lines.length + 1;
    const own = entryIdForSeq(q);
    const { type, ...rest } = record;
    const keyed = k === undefined ? {} : { k, h: '0123456789abcdef' };
    lines.push(
      encodeLine(
        { type, id: own, parentId: leaf, timestamp: TIME, ...rest },
        { q, e: 3, b: '1/1', ...keyed },
      ),
    );
    if (isChain) leaf = own;
  };
  if (activation !== undefined)
    add({ type: 'custom', customType: 'reprise.activate', data: { key, counter: activation } }, false);
  for (const [i, content] of texts.entries())
    add({ type: 'message', message: { role: 'user', content } }, true, `${id}-${i}`);
  if (deleted === true) add({ type: 'custom', customType: 'reprise.deleted' }, false);
  return lines.join('');
}

export function writeTranscript(home: string, input: TranscriptInput): string {
  const folder = join(home, 'agents', 'main', 'sessions');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `${input.id}.jsonl`);
  writeFileSync(file, transcript(input), { mode: 0o600 });
  return file;
}

/** Sessions `n0000`, `n0001`, … of as many chats. */
export function writeMany(home: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const id = `n${String(i).padStart(4, '0')}`;
    writeTranscript(home, { id, key: `agent:main:tg:direct:${id}`, texts: [`first of ${id}`, 'second'] });
    return id;
  });
}
