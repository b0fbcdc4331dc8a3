import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { loadBlobs } from '../../src/store/copy/load-blobs.ts';
import type { NewEntry, Store } from '../../src/store/port/store.ts';
import { blobNames, hydrateBlobs } from '../../src/transcript/blobs.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../src/transcript/limits.ts';
import { beforeAndAfter, bodyOf, KEY, PATIENT, readEntries, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

/** Bytes of any length, different for each seed, that no compressor or decoder leaves unchanged. */
function bytesOf(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let i = 0, x = seed; i < length; i++) {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    bytes[i] = x >>> 16;
  }
  return bytes;
}

const IMAGE = bytesOf(150_001, 1);
const OUTPUT = `\ufeff\u0000 first\r\n${'字😀 é line\n'.repeat(9_000)}last`;

function picture(image: Buffer = IMAGE): NewEntry {
  const block = { type: 'image', data: image.toString('base64'), mimeType: 'image/png', detail: 'high' };
  return { type: 'message', message: { role: 'user', content: [{ type: 'text', text: 'look' }, block] } };
}

function result(text: string): NewEntry {
  const content = [{ type: 'text', text }];
  const message = { role: 'toolResult', toolCallId: 'c', toolName: 'read', content, isError: false };
  return { type: 'message', message };
}

function nameOf(bytes: string | Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

export const blobCases: readonly StoreCase[] = [
  {
    name: 'large images and tool texts come back byte for byte',
    promise: 'P1: content of any size is stored unchanged',
    area: 'blobs',
    async run({ store, reopen }) {
      const id = await session(store);
      const given = [picture(), result(OUTPUT), { ...picture(), copied: true }, picture(bytesOf(70_000, 2))];
      await store.append(id, given.slice(0, 2));
      for (const entry of given.slice(2)) await store.append(id, [entry]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assertSame(await wholeBodies(open, id), given);
        assertBytes(await open.blob(id, nameOf(IMAGE)), IMAGE);
        assertBytes(await open.blob(id, nameOf(OUTPUT)), Buffer.from(OUTPUT));
        assert.equal((await open.verify(id)).status, 'clean');
      }
    },
  },
  {
    name: 'the line of a large part has a text that every reader can show',
    promise: 'P4: other tools open our transcripts',
    area: 'blobs',
    async run({ store }) {
      const id = await session(store);
      await store.append(id, [picture(), result(OUTPUT)]);
      const [image, text] = (await readEntries(store, id)).map((entry) => contentOf(entry).at(-1));
      const reference = { blob: nameOf(IMAGE), bytes: IMAGE.length, mimeType: 'image/png', detail: 'high' };
      assert.deepEqual(image, { type: 'text', text: '[image/png, 150 kB]', ...reference });
      const { text: preview, ...rest } = text ?? {};
      const bytes = Buffer.byteLength(OUTPUT);
      assert.deepEqual(rest, { type: 'text', blob: nameOf(OUTPUT), bytes, mimeType: 'text/plain' });
      assert.ok(typeof preview === 'string' && preview.startsWith(OUTPUT.slice(0, 600)), 'it begins alike');
      assert.ok(Buffer.byteLength(preview) < 2200, 'it is short');
      const { hits } = await store.search({ text: 'first', ...PATIENT });
      assert.deepEqual(
        hits.map(({ seq }) => seq),
        [3],
      );
    },
  },
  {
    name: 'an export carries large parts by reference',
    promise: 'I-16: the same operations give the same bytes on every store',
    area: 'blobs',
    async run({ store, reopen }) {
      const id = await session(store);
      await store.append(id, [picture(), result(OUTPUT)]);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const exported = Buffer.from(await open.exportSession(id));
        assert.ok(exported.length < 8192, 'the lines are short');
        for (const bytes of [IMAGE, OUTPUT]) assert.ok(exported.includes(nameOf(bytes)), 'the line names it');
      }
    },
  },
  {
    name: 'parts of up to 64 KiB and messages of people stay in their line',
    promise: 'P4: the transcript alone contains the conversation',
    area: 'blobs',
    async run({ store }) {
      const id = await session(store);
      const said = 'x'.repeat(100_000);
      const given = [picture(bytesOf(65_536, 3)), result('y'.repeat(65_536)), user(said)];
      await store.append(id, given);
      assertSame((await readEntries(store, id)).map(bodyOf), given);
      await store.append(id, [picture(bytesOf(65_537, 4)), result('y'.repeat(65_537))]);
      assert.equal(blobNames(await readEntries(store, id)).size, 2);
    },
  },
  {
    name: 'a refused append leaves no blob',
    promise: 'P2: a refusal wrote nothing',
    area: 'blobs',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      const deleted = await session(store);
      await store.delete(deleted);
      const lease = await store.lease(id, { waitMs: 0 });
      const tooLong = user('x'.repeat(DEFAULT_RECORD_LIMITS.maxRecordBytes));
      const stranger = { type: 'custom', customType: 'reprise.leaf', parentId: 'nowhere' };
      const { epoch } = lease;
      await refused(store.append(id, [picture()], { epoch: epoch + 1 }), 'FENCED');
      await refused(store.append(id, [picture()]), 'LEASE_HELD');
      await refused(store.append(id, [picture()], { epoch, expectedLeaf: 'elsewhere' }), 'LEAF_MOVED');
      await refused(store.append(id, [picture(), tooLong], { epoch }), 'LIMIT_EXCEEDED');
      await refused(store.append(id, [picture(), stranger], { epoch }), 'INVALID_INPUT');
      await refused(store.append(deleted, [picture()]), 'SESSION_DELETED');
      await lease.release();
      for await (const open of beforeAndAfter({ store, reopen })) {
        for (const session of [id, deleted]) await refused(open.blob(session, nameOf(IMAGE)), 'NOT_FOUND');
        assert.deepEqual(await open.verify(), { status: 'clean', findings: [] });
      }
    },
  },
  {
    name: 'an entry too long for a line is refused, even if its image would be stored separately',
    promise: 'P1: a stored entry can be exported as a single line again',
    area: 'blobs',
    async run({ store }) {
      const id = await session(store);
      const image = Buffer.alloc(DEFAULT_RECORD_LIMITS.maxRecordBytes);
      await refused(store.append(id, [picture(image)]), 'LIMIT_EXCEEDED');
      await refused(store.blob(id, nameOf(image)), 'NOT_FOUND');
    },
  },
  {
    name: 'a retry with the same key and large parts gets the same seqs, and different parts are a different body',
    promise: 'P2: a retry is written once',
    area: 'blobs',
    async run({ store, reopen }) {
      const id = await session(store);
      const receipt = await store.append(id, [picture(), result(OUTPUT)], { key: 'k' });
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.append(id, [picture(), result(OUTPUT)], { key: 'k' }), receipt);
        const other = [picture(), result(OUTPUT.replace(/last$/, 'lost'))];
        await refused(open.append(id, other, { key: 'k' }), 'KEY_REUSED');
        const stored = (await readEntries(open, id)).map(bodyOf) as NewEntry[];
        await refused(open.append(id, stored, { key: 'k' }), 'KEY_REUSED');
        assert.equal((await readEntries(open, id)).length, 2);
      }
    },
  },
  {
    name: 'a blob is served only through a session that has it',
    promise: 'P8: access to a session gives no access to another',
    area: 'blobs',
    async run({ store }) {
      const [id, other] = [await session(store), await session(store, ['a'])];
      await store.append(id, [picture()]);
      assertBytes(await store.blob(id, nameOf(IMAGE)), IMAGE);
      await refused(store.blob(other, nameOf(IMAGE)), 'NOT_FOUND');
      await refused(store.blob('nobody', nameOf(IMAGE)), 'SESSION_NOT_FOUND');
      for (const name of ['', '../x', 'sha256:', `${nameOf(IMAGE)}0`, nameOf(IMAGE).toUpperCase()])
        await refused(store.blob(id, name), 'INVALID_INPUT');
    },
  },
  {
    name: 'a line names no blob that its session lacks',
    promise: 'I-18: every blob that a line names exists',
    area: 'blobs',
    async run({ store }) {
      const [id, other] = [await session(store), await session(store)];
      await store.append(id, [picture()]);
      const [stored] = (await readEntries(store, id)).map(bodyOf);
      assert.ok(stored !== undefined);
      await refused(store.append(other, [stored as NewEntry]), 'INVALID_INPUT');
      await store.append(id, [stored as NewEntry]);
      assertSame(await wholeBodies(store, id), [picture(), picture()]);
      assert.deepEqual(await store.verify(), { status: 'clean', findings: [] });
    },
  },
  {
    name: 'delete and restore keep large parts; purge removes those of its session only',
    promise: 'P3: only purge destroys data, and only that of its session',
    area: 'blobs',
    async run({ store, reopen }) {
      await store.create({ id: 'burnt', key: KEY });
      const kept = await session(store);
      for (const id of ['burnt', kept]) await store.append(id, [picture()]);
      await store.delete('burnt');
      assertBytes(await store.blob('burnt', nameOf(IMAGE)), IMAGE);
      await store.restore('burnt');
      assertSame((await wholeBodies(store, 'burnt')).slice(0, 1), [picture()]);
      await store.delete('burnt');
      await store.purge('burnt');
      for await (const open of beforeAndAfter({ store, reopen })) {
        await refused(open.blob('burnt', nameOf(IMAGE)), 'GONE');
        assertBytes(await open.blob(kept, nameOf(IMAGE)), IMAGE);
        assert.deepEqual(await open.verify(), { status: 'clean', findings: [] });
      }
    },
  },
];

async function wholeBodies(store: Store, id: string): Promise<JsonObject[]> {
  const entries = await readEntries(store, id);
  return hydrateBlobs(entries, await loadBlobs(store, id, entries)).map(bodyOf);
}

/** Compares as JSON and as a whole: the order of keys counts, and a failure does not print megabytes. */
function assertSame(found: readonly JsonObject[], given: readonly JsonObject[]): void {
  assert.equal(found.length, given.length);
  for (const [i, entry] of found.entries())
    assert.ok(JSON.stringify(entry) === JSON.stringify(given[i]), `entry ${i + 1} is what was given`);
}

function assertBytes(found: Uint8Array, given: Buffer): void {
  assert.ok(found instanceof Uint8Array && given.equals(found), 'the bytes are those that were given');
}

function contentOf({ message }: JsonObject): readonly JsonObject[] {
  return isObject(message) && Array.isArray(message['content']) ? message['content'] : [];
}
