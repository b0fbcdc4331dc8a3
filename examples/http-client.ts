import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createClient } from 'reprise/client';

// Starts a server on a free port. It prints one JSON line with its address and token file.
const [home = './data'] = process.argv.slice(2);
const command = [new URL('../bin/reprise.cjs', import.meta.url).pathname, 'serve', '--port', '0', '--json'];
const server = spawn(process.execPath, [...command, '--home', home, '--model', 'offline']);
const [line] = await once(createInterface({ input: server.stdout }), 'line');
const { url, tokenFile } = JSON.parse(String(line));

const client = createClient({ url, token: readFileSync(tokenFile, 'utf8').trim() });
const stream = client.chat('main', { message: 'My name is Ada.' });
let answer = '';
let place: { sessionId?: string; inboxId?: string } = {};
for await (const event of stream) {
  if (event.type === 'session') place = event;
  if (event.type === 'text_delta') answer += event.text;
  if (answer.length > 10) break; // closes the connection; the turn continues
}
const { sessionId = '', inboxId } = place;
const session = client.session(sessionId);
for await (const event of session.stream({ inboxId, lastEventId: stream.lastEventId })) {
  if (event.type === 'text_delta') answer += event.text;
  if (event.type === 'interrupted') answer = event.text; // the server was restarted: this part is stored
}
console.log(answer);
for (const { role, text } of (await session.history()).data)
  if (role === 'assistant') console.log(text === answer);

server.kill('SIGTERM');
await once(server, 'exit');
