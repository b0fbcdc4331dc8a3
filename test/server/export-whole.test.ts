import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { openStore } from '../../src/config/open.ts';
import { RepriseError } from '../../src/errors.ts';
import type { NewEntry } from '../../src/exports/store.ts';
import { parseTranscript } from '../../src/exports/transcript.ts';
import type { Store } from '../../src/index.ts';
import { wholeParts } from '../../src/store/copy/whole-parts.ts';
import { pngBase64 } from '../support/engine/images.ts';
import { startServer, TOKEN } from '../support/server/http.ts';
import { freshFolder, freshStore, importFrom } from '../support/store/interop-home.ts';

const PATH = '/api/agents/main/sessions/s/export';
const image = (width: number): string => pngBase64(width, 1, 100_000);
const picture = (width: number): NewEntry => ({
  type: 'message',
  message: {
    role: 'user',
    content: [
      { type: 'text', text: `look at ${width}` },
      { type: 'image', data: image(width), mimeType: 'image/png' },
    ],
  },
});
const LONG = 'a long listing\n'.repeat(10_000);
const SAID: readonly NewEntry[] = [
  picture(1),
  { type: 'message', message: { role: 'user', content: 'sha256: is no name of a blob' } },
  {
    type: 'message',
    message: {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'list',
      content: [{ type: 'text', text: LONG }],
      isError: false,
    },
  },
  picture(2),
  picture(1),
];

interface Scene {
  readonly store: Store;
  readonly blobFile: (width: number) => string;
}

async function withPictures(): Promise<Scene> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-whole-'));
  const store = await openStore({ kind: 'jsonl', home });
  onTestFinished(async () => {
    await store[Symbol.asyncDispose]();
    rmSync(home, { recursive: true, force: true });
  });
  await store.create({ id: 's', key: 'agent:main:session:s' });
  for (const entry of SAID) await store.append('s', [entry]);
  const sessions = join(home, 'agents/main/sessions');
  return {
    store,
    blobFile: (width) => {
      const hash = createHash('sha256')
        .update(Buffer.from(image(width), 'base64'))
        .digest('hex');
      return join(sessions, 's.blobs', hash);
    },
  };
}

const contents = (text: string): unknown[] =>
  parseTranscript(Buffer.from(text)).entries.map(({ message }) => (message as { content: unknown }).content);
const given = SAID.map(({ message }) => (message as { content: unknown }).content);

async function gathered(parts: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all).toString();
}

test('one download is the whole session: images and large results are at their original place', async () => {
  const { store } = await withPictures();
  await using server = await startServer({}, { store });
  const { status, text } = await server.ask(PATH);
  expect(status).toBe(200);
  const { issues } = parseTranscript(Buffer.from(text));
  expect(issues).toEqual(parseTranscript(await store.exportSession('s')).issues);
  expect(contents(text)).toEqual(given);
  // What names no blob is as it is stored, byte for byte.
  const stored = Buffer.from(await store.exportSession('s'))
    .toString()
    .split('\n');
  const lines = text.split('\n');
  expect([0, 2, 6].map((i) => lines[i])).toEqual([0, 2, 6].map((i) => stored[i]));
});

test('a session that is exported, deleted and purged is imported from its file with its images', async () => {
  const { store } = await withPictures();
  await using server = await startServer({}, { store });
  const file = join(freshFolder(), 's.jsonl');
  writeFileSync(file, (await server.ask(PATH)).text);
  const other = await freshStore();
  const { sessions } = await importFrom(other, file);
  expect(sessions[0]).toMatchObject({ action: 'new', notes: [] });
  const lines = (await gathered(wholeParts(other, await other.get('s')))).split('\n');
  const back = contents(lines.filter((line) => line.includes('"role"')).join('\n'));
  expect(back).toEqual(given);
});

test.each<[string, (file: string) => void]>([
  ['gone', (file) => rmSync(file)],
  ['damaged', (file) => writeFileSync(file, 'other bytes')],
])('an image that is %s is told before a byte is given, and the rest can be taken along', async (_, harm) => {
  const { store, blobFile } = await withPictures();
  await using server = await startServer({}, { store });
  harm(blobFile(1));
  expect(await server.ask(PATH)).toMatchObject({
    status: 409,
    json: {
      code: 'STORE_CORRUPT',
      error: '1 large part of session s is missing or damaged',
      details: { lost: 1, next: expect.stringContaining('lost=preview') },
    },
  });
  const { status, text } = await server.ask(`${PATH}?lost=preview`);
  expect(status).toBe(200);
  const [first, , result, second, again] = contents(text);
  expect([result, second]).toEqual([given[2], given[3]]);
  for (const harmed of [first, again])
    expect(harmed).toEqual([
      { type: 'text', text: 'look at 1' },
      expect.objectContaining({ type: 'text', text: expect.stringMatching(/^\[image\/png, /) }),
    ]);
  expect((await server.ask(`${PATH}?lost=whatever`)).status).toBe(400);
});

test('an image that disappears while a download runs cuts it off, so that it is no complete file', async () => {
  const { store } = await withPictures();
  let asked = 0;
  const failing = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'blob') return value.bind(target) as unknown;
      return async (...args: Parameters<Store['blob']>) => {
        // Three to look all through; the second after that is gone.
        if (++asked === 5) throw new RepriseError('NOT_FOUND', 'no such blob');
        return target.blob(...args);
      };
    },
  });
  await using server = await startServer({}, { store: failing });
  await expect(server.ask(PATH)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  expect(asked).toBe(5);
});

test('no image is read before the client has taken what precedes it', async () => {
  const { store } = await withPictures();
  const read: string[] = [];
  const watched = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'blob') read.push(String(args[1]));
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const parts = wholeParts(watched, await store.get('s'), { lost: 'preview' });
  const counts: number[] = [];
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) counts.push(read.length);
  // The header, an image, a line that names none, the result, an image, an image.
  expect(counts).toEqual([1, 1, 2, 2, 3, 4]);
});

test('a damaged line is given as it is, never sealed again as if it were sound', async () => {
  const { store } = await withPictures();
  const stored = Buffer.from(await store.exportSession('s')).toString();
  const harmed = stored.replace('look at 2', 'look at 3');
  const source = {
    exportSession: async () => Buffer.from(harmed),
    exportLines: async () => Promise.reject(new Error('a damaged session comes whole')),
    blob: (id: string, name: string) => store.blob(id, name),
  };
  const text = await gathered(wholeParts(source, { ...(await store.get('s')), corruptAt: 1 }));
  const isBad = (line: string): boolean => line.includes('look at 3');
  expect(text.split('\n').filter(isBad)).toEqual(harmed.split('\n').filter(isBad));
  expect(contents(text)).toEqual([...given.slice(0, 3), given[4]]);
});

test('an export that takes longer than the time limit of other answers arrives', async () => {
  const { store } = await withPictures();
  const timeoutMs = 20;
  const slow = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'blob') return value.bind(target) as unknown;
      return async (...args: Parameters<Store['blob']>) => {
        await once(AbortSignal.timeout(2 * timeoutMs), 'abort');
        return target.blob(...args);
      };
    },
  });
  await using server = await startServer({}, { store: slow });
  const client = createClient({ url: server.url, token: TOKEN, timeoutMs, retries: 0 });
  const bytes = await client.session('s', { agentId: 'main' }).export();
  expect(contents(Buffer.from(bytes).toString())).toEqual(given);
});

test('reading stops when the client has disconnected', async () => {
  const { store } = await withPictures();
  const client = new AbortController();
  const read: string[] = [];
  const source = {
    exportSession: (id: string) => store.exportSession(id),
    exportLines: (...args: Parameters<Store['exportLines']>) => store.exportLines(...args),
    blob: (id: string, name: string) => {
      read.push(name);
      client.abort();
      return store.blob(id, name);
    },
  };
  const parts = wholeParts(source, await store.get('s'), { signal: client.signal });
  await expect(parts.next()).rejects.toMatchObject({ code: 'ABORTED' });
  expect(read).toHaveLength(1);
});

test('with redact=true the file has no secret in it, and keeps its pictures', async () => {
  const { store } = await withPictures();
  // Put together here, so that no scanner takes this file for a leak.
  const secret = ['ghp', 'a1B2c3D4e5F6'.repeat(3)].join('_');
  await store.append('s', [{ type: 'message', message: { role: 'user', content: `key ${secret}` } }]);
  await using server = await startServer({}, { store });
  const client = createClient({ url: server.url, token: TOKEN });
  const read = async (redact: boolean): Promise<string> =>
    Buffer.from(await client.session('s').export({ redact })).toString();
  expect(await read(false)).toContain(secret);
  const redacted = await read(true);
  expect(redacted).not.toContain(secret);
  expect(redacted).toContain('*'.repeat(36));
  expect(redacted).toContain(image(1));
  const lines = (text: string): number => text.trimEnd().split('\n').length;
  expect(lines(redacted)).toBe(lines(await read(false)));
  expect(parseTranscript(Buffer.from(redacted)).entries).toHaveLength(
    parseTranscript(Buffer.from(await read(false))).entries.length,
  );
  expect((await server.ask(`${PATH}?redact=perhaps`)).status).toBe(400);
});
