// The API without the client library: one request, and a standard event stream (SSE).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const [home = './data'] = process.argv.slice(2);
const command = [new URL('../bin/reprise.cjs', import.meta.url).pathname, 'serve', '--port', '0', '--json'];
const token = 'a-token-that-both-sides-know';
const env = { ...process.env, REPRISE_TOKEN: token };
const server = spawn(process.execPath, [...command, '--home', home, '--model', 'offline'], { env });
const [line] = await once(createInterface({ input: server.stdout }), 'line');
const { url } = JSON.parse(String(line));

const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
const body = JSON.stringify({ message: 'My name is Ada.', sessionId: 'plain' });
// A retry with the same idempotency key gets the same answer.
for (const attempt of [1, 2]) {
  const response = await fetch(`${url}/api/agents/main/chat`, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': 'first' },
    body,
  });
  let rest = '';
  let text = '';
  let lastId = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + chunk).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const [, id, data] = /^id: (.*)\ndata: (.*)$/.exec(frame) ?? [];
      if (id === undefined || data === undefined) continue; // a keep-alive comment
      const event = JSON.parse(data);
      lastId = id; // send it as `Last-Event-ID` to resume here, on any server with the same store
      if (event.type === 'text_delta') text += event.text;
      if (event.type === 'done') console.log(attempt, lastId !== '', text === event.text, text.slice(0, 27));
    }
  }
}

server.kill('SIGTERM');
await once(server, 'exit');
