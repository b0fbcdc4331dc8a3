import { openReprise, type Tool } from 'reprise';

const ORDERS: Readonly<Record<string, string>> = { 'A-17': 'shipped on Monday' };

const findOrder: Tool = {
  name: 'find_order',
  description: 'Returns the status of an order.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  // Safe to run twice, so after a crash the turn can run it again.
  safe: true,
  run: ({ id }) => {
    const found = ORDERS[String(id)];
    // An error becomes a tool result that the model sees; the turn continues.
    if (found === undefined) throw new Error(`no order ${String(id)}`);
    return found;
  },
};

await using reprise = await openReprise({ store: 'memory', tools: [findOrder] });
const session = await reprise.session('agent:main:main');
// The offline model calls a tool if the message has exactly this form.
for (const id of ['A-17', 'B-99']) {
  for await (const event of session.send(`call find_order with {"id": "${id}"}`)) {
    if (event.type === 'tool_call') console.log('call  ', event.name, JSON.stringify(event.input));
    if (event.type === 'tool_result') console.log('result', event.isError, event.text);
  }
}
