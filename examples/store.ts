import { openStore } from 'reprise';

await using store = await openStore({ kind: 'jsonl', home: process.argv[2] ?? './data' });
const { id } = await store.create({ key: 'agent:main:main' });
const message = { role: 'user', content: 'hello' };
const first = await store.append(id, [{ type: 'message', message }], { key: 'message-1' });
// The answer was lost and the caller tries again: the same key, the same place, written once.
const again = await store.append(id, [{ type: 'message', message }], { key: 'message-1' });
console.log(first, again, (await store.tail(id)).entries.length);
