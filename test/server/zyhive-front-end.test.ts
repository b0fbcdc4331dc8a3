import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reprise } from '../support/command-line.ts';
import { ask, TOKEN } from '../support/http.ts';
import { ServeProcess } from '../support/serve-process.ts';

const args = ['--profile', 'zyhive'];
const CHAT = '/api/agents/main/chat';

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
    const body = JSON.stringify({ message: 'my name is Ada' });
    const headers = {
      Authorization: `Bearer ${TOKEN}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': 'first-chat',
    };
    const first = await fetch(server.url + CHAT, { method: 'POST', headers, body });
    // The message is accepted as soon as the first event arrives; the answer is still being written.
    await first.body?.getReader().read();
    await server.end('SIGKILL');
    await server.start();
    const retry = await ask(server.port, CHAT, {
      method: 'POST',
      headers: { 'Idempotency-Key': 'first-chat' },
      body,
    });
    const [, id = ''] = /"type":"done","sessionId":"(ses-\d{13})"/.exec(retry.text) ?? [];
    const { json } = await ask(server.port, '/api/agents/main/sessions');
    expect(json.data.map((session) => [session.id, session['turnCount']])).toEqual([[id, 1]]);
  });
});
