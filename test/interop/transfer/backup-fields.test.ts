import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { RepriseError } from '../../../src/errors.ts';
import { parseRecord } from '../../../src/interop/transfer/backup-record.ts';
import { restoreBackup } from '../../../src/interop/transfer/restore-backup.ts';
import { digestRecords } from '../../../src/interop/transfer/store-digest.ts';
import { writeBackup } from '../../../src/interop/transfer/write-backup.ts';
import type { TransferRecord } from '../../../src/store/port/transfer.ts';
import { isObject, type JsonObject } from '../../../src/transcript/json.ts';

const root = mkdtempSync(join(tmpdir(), 'reprise-backup-fields-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const file = join(root, 'good.jsonl');
let lines: string[] = [];
/** Of each kind the first, as text. */
const records: Map<string, string> = new Map();

beforeAll(async () => {
  await using store = await openStore({ kind: 'memory' });
  const { id } = await store.create({ key: 'agent:main:main' });
  const image = { type: 'image', data: Buffer.alloc(100_000, 1).toString('base64'), mimeType: 'image/png' };
  await store.append(id, [{ type: 'message', message: { role: 'user', content: [image] } }]);
  const gone = await store.create({ key: 'agent:main:tg:direct:1' });
  await store.delete(gone.id);
  await store.purge(gone.id);
  await store.inbox.receive({
    sessionKey: 'agent:main:main',
    source: 'telegram',
    idempotencyKey: 'one',
    body: { text: 'hello' },
    log: {
      agentId: 'main',
      channelType: 'telegram',
      channelId: '7',
      role: 'user',
      content: 'hello',
      sender: { id: 'ada', name: 'Ada' },
    },
  });
  await writeBackup(store, file);
  lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  for (const line of lines) {
    const kind = (JSON.parse(line) as JsonObject)['kind'];
    if (typeof kind === 'string' && !records.has(kind)) records.set(kind, line);
  }
  records.delete('backup');
});

/** The result of reading it: no problem, or the error text. Any error without a code is rethrown. */
async function harmOf(line: Buffer): Promise<string> {
  try {
    const parsed = parseRecord(line, 0);
    if (!('record' in parsed)) return 'none';
    await digestRecords(
      (async function* (): AsyncGenerator<TransferRecord> {
        yield parsed.record;
      })(),
    );
    return 'none';
  } catch (error) {
    if (error instanceof RepriseError) return error.code;
    throw error;
  }
}

test('a bit that is wrong anywhere in a record is damage or seen by its sum, never a fault of the program', async () => {
  expect([...records.keys()].sort()).toEqual(
    ['blob', 'convlog', 'end', 'epoch', 'inbound', 'item', 'key', 'lines', 'purged', 'session'].sort(),
  );
  const seen = new Set<string>();
  for (const record of records.values()) {
    const good = Buffer.from(record);
    expect(await harmOf(good)).toBe('none');
    for (let at = 0; at < Math.min(good.length, 600); at++) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ (1 << (at % 7));
      seen.add(await harmOf(bad));
    }
  }
  expect([...seen].sort()).toEqual(['STORE_CORRUPT', 'none']);
});

/** Every record with one of its fields as no field may be, and the path of that field. */
function* misshapen(value: JsonObject, path = ''): Generator<[string, JsonObject]> {
  for (const [name, field] of Object.entries(value)) {
    if (name === 'kind') continue;
    yield [`${path}${name}`, { ...value, [name]: [[]] }];
    if ((name === 'item' || name === 'line') && isObject(field))
      for (const [inner, changed] of misshapen(field, `${name}.`))
        yield [inner, { ...value, [name]: changed }];
  }
}

test('no field of a record is taken for what it is not', async () => {
  const taken: string[] = [];
  for (const [kind, record] of records) {
    if (kind === 'end') continue; // its sum and count are compared
    for (const [path, changed] of misshapen(JSON.parse(record) as JsonObject))
      if ((await harmOf(Buffer.from(JSON.stringify(changed)))) === 'none') taken.push(`${kind}: ${path}`);
  }
  expect(taken).toEqual([]);
});

test.each([
  ['convlog', { line: {} }, 'line.agentId'],
  ['session', { agentId: '../../elsewhere' }, 'agentId'],
  ['session', { id: '../s' }, 'id'],
  ['item', { item: null }, 'item'],
])('a %s with %j is refused although the sum of the file is right', async (kind, change, field) => {
  const changed = lines.map((line) => {
    if (line !== records.get(kind)) return line;
    return JSON.stringify({ ...(JSON.parse(line) as object), ...change });
  });
  const body = `${changed.slice(0, -1).join('\n')}\n`;
  const end = JSON.parse(lines.at(-1) ?? '') as object;
  const sha256 = createHash('sha256').update(body).digest('hex');
  const bad = join(root, 'bad.jsonl');
  writeFileSync(bad, `${body}${JSON.stringify({ ...end, sha256 })}\n`);
  await using target = await openStore({ kind: 'memory' });
  await expect(restoreBackup(bad, target)).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    message: expect.stringContaining(`a record of kind "${kind}" has no valid "${field}"`),
    details: { next: expect.stringContaining('Nothing was restored') },
  });
  expect(await target.transfer.state()).toEqual({ empty: true });
});
