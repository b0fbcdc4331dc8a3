import { openReprise, type Tool } from 'reprise';

const ORDERS: Readonly<Record<string, string>> = { 'A-17': 'shipped on Monday' };

const findOrder: Tool = {
  name: 'find_order',
  description: 'Says where an order is.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  // Running it twice does no harm, so a turn that a crash ended may be resumed after it.
  safe: true,
  run: ({ id }) => {
    const found = ORDERS[String(id)];
    // What a tool throws becomes an error result that the model sees; the turn goes on.
    if (found === undefined) throw new Error(`no order ${String(id)}`);
    return found;
  },
};

await using reprise = await openReprise({ store: 'memory', tools: [findOrder] });
const session = await reprise.session('agent:main:main');
// The offline model calls a tool when it is asked in just these words.
for (const id of ['A-17', 'B-99']) {
  for await (const event of session.send(`call find_order with {"id": "${id}"}`)) {
    if (event.type === 'tool_call') console.log('call  ', event.name, JSON.stringify(event.input));
    if (event.type === 'tool_result') console.log('result', event.isError, event.text);
  }
}
