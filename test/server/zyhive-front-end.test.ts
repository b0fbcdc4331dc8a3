import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { reprise } from '../support/processes/command-line.ts';
import { TOKEN } from '../support/server/http.ts';
import { ServeProcess } from '../support/server/serve-process.ts';
import { ZyhiveFrontEnd } from '../support/server/zyhive-front-end.ts';

const args = ['--profile', 'zyhive'];

describe('a front end of ZyHive at `reprise serve --profile zyhive`', { timeout: 180_000 }, () => {
  let server: ServeProcess;
  let ui: ZyhiveFrontEnd;
  beforeAll(async () => {
    server = await ServeProcess.start({ args });
    ui = new ZyhiveFrontEnd(server.url, TOKEN, 'main');
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('creates a chat, streams it, resumes it, lists it, reads it, renames it and deletes it', async () => {
    const before = Date.now();
    const arrived: string[] = [];
    const first = await ui.chat('我叫小刘', undefined, { onEvent: ({ type }) => arrived.push(type) });
    expect(arrived).toContain('text_delta');
    expect(arrived.filter((type) => type === 'done')).toHaveLength(1);
    expect(first.text).not.toBe('');
    const id = String(first.done.sessionId);
    expect(id).toMatch(/^ses-\d{13}$/);
    expect(Number(id.slice('ses-'.length))).toBeGreaterThanOrEqual(before);
    expect(first.done).toEqual({ type: 'done', sessionId: id, tokenEstimate: expect.any(Number) });

    const second = await ui.chat('my name is Ada', id);
    expect(second.done.sessionId).toBe(id);
    const third = await ui.chat('what is my name?', id);
    expect(third.text).toContain('Ada');

    const other = await ui.chat('another chat');
    expect(other.done.sessionId).not.toBe(id);

    const listed = await ui.sessions();
    expect(listed.map((session) => session.id)).toEqual([other.done.sessionId, id]);
    expect(listed[1]).toEqual({
      id,
      agentId: 'main',
      filePath: `${id}.jsonl`,
      title: '我叫小刘',
      messageCount: 6,
      createdAt: expect.any(Number),
      lastAt: expect.any(Number),
      tokenEstimate: expect.any(Number),
    });
    const { createdAt, lastAt } = listed[1] ?? { createdAt: 0, lastAt: 0 };
    expect(createdAt).toBeGreaterThanOrEqual(before);
    expect(lastAt).toBeGreaterThanOrEqual(createdAt);
    expect(lastAt).toBeLessThanOrEqual(Date.now());

    const messages = await ui.messages(id);
    expect(messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', '我叫小刘'],
      ['assistant', first.text],
      ['user', 'my name is Ada'],
      ['assistant', second.text],
      ['user', 'what is my name?'],
      ['assistant', third.text],
    ]);
    for (const { timestamp } of messages) expect(timestamp).toBeGreaterThanOrEqual(before);

    await ui.rename(id, '分析 payment.py 的并发问题');
    expect((await ui.sessions()).find((session) => session.id === id)?.title).toBe(
      '分析 payment.py 的并发问题',
    );

    await ui.remove(id);
    expect((await ui.sessions()).map((session) => session.id)).toEqual([other.done.sessionId]);
    await expect(ui.messages(id)).rejects.toThrow(/^404: \S/);
    await expect(ui.messages('ses-1')).rejects.toThrow(/^404: \S/);
  });

  test('a message that is sent again with its key is answered once', async () => {
    const first = await ui.chat('count me once', undefined, { idempotencyKey: 'once' });
    const again = await ui.chat('count me once', undefined, { idempotencyKey: 'once' });
    expect(again.done).toEqual(first.done);
    expect(again.text).toBe(first.text);
    expect(await ui.messages(String(first.done.sessionId))).toHaveLength(2);
  });

  test("Reprise's own client works at the same server, on the same sessions", async () => {
    const client = createClient({ url: server.url, token: TOKEN });
    const said = await ui.chat('for both of us');
    const id = String(said.done.sessionId);
    const session = client.session(id);
    const history = await session.history();
    expect(history.session).toMatchObject({ id, sessionKey: expect.stringContaining('agent:main:') });
    expect(history.data.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'for both of us'],
      ['assistant', said.text],
    ]);
    const types: string[] = [];
    for await (const event of client.chat('main', { message: 'go on', sessionId: id }))
      types.push(event.type);
    expect(types[0]).toBe('session');
    expect(types.at(-1)).toBe('done');
    for (const list of [await client.sessions({ agentId: 'main' }), await client.sessions()])
      expect(list.data.map((one) => one.id)).toContain(id);
    expect((await session.patch({ title: 'ours' })).session).toMatchObject({ id, title: 'ours' });
    expect((await ui.sessions()).find((one) => one.id === id)?.title).toBe('ours');
    expect((await session.delete()).session.status).toBe('deleted');
    expect((await ui.sessions()).map((one) => one.id)).not.toContain(id);
  });
});

describe('reprise serve --profile', { timeout: 180_000 }, () => {
  test('a name that is no profile is refused before the home is touched', () => {
    const home = mkdtempSync(join(tmpdir(), 'reprise-profile-'));
    const { status, stderr } = reprise(['serve', '--port', '0', '--home', home, '--profile', 'nope']);
    expect({ status, files: readdirSync(home) }).toEqual({ status: 2, files: [] });
    expect(stderr).toContain('one of native, claw0, claw0-classic, zeroclaw, clawdbot, zyhive');
    rmSync(home, { recursive: true });
  });

  test('a retry after the server was killed in the middle of the answer finds the session of the first try', async () => {
    await using server = await ServeProcess.start({ args: [...args, '--model', 'offline:slow'] });
    const ui = new ZyhiveFrontEnd(server.url, TOKEN, 'main');
    let arrived = (): void => undefined;
    const isAnswering = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const first = ui.chat('my name is Ada', undefined, { idempotencyKey: 'k', onEvent: () => arrived() });
    const isCut = expect(first).rejects.toThrow();
    await isAnswering;
    await server.end('SIGKILL');
    await isCut;
    await server.start();
    const { done } = await ui.chat('my name is Ada', undefined, { idempotencyKey: 'k' });
    expect(done.sessionId).toMatch(/^ses-\d{13}$/);
    expect((await ui.sessions()).map(({ id }) => id)).toEqual([done.sessionId]);
    const said = (await ui.messages(String(done.sessionId))).filter(({ role }) => role === 'user');
    expect(said.map(({ text }) => text)).toEqual(['my name is Ada']);
  });
});
