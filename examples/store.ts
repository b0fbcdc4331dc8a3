import { openStore } from 'reprise';

await using store = await openStore({ kind: 'jsonl', home: process.argv[2] ?? './data' });
const { id } = await store.create({ key: 'agent:main:main' });
const message = { role: 'user', content: 'hello' };
const first = await store.append(id, [{ type: 'message', message }], { key: 'message-1' });
// If the answer is lost and the caller retries with the same key, the entry is written once.
const again = await store.append(id, [{ type: 'message', message }], { key: 'message-1' });
console.log(first, again, (await store.tail(id)).entries.length);
