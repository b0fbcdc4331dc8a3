import { openReprise, tool } from 'reprise';
import { z } from 'zod';

const ORDERS: Readonly<Record<string, string>> = { 'A-17': 'shipped on Monday' };

const findOrder = tool({
  name: 'find_order',
  description: 'Returns the status of an order.',
  input: z.object({ id: z.string() }),
  // Safe to run twice, so after a crash the turn can run it again.
  safe: true,
  run: ({ id }) => {
    const found = ORDERS[id];
    // An error becomes a tool result that the model sees; the turn continues.
    if (found === undefined) throw new Error(`no order ${id}`);
    return found;
  },
});

await using reprise = await openReprise({ store: 'memory', tools: [findOrder] });
const session = await reprise.session('agent:main:main');
// The offline model calls a tool if the message has exactly this form.
for (const id of ['A-17', 'B-99']) {
  for await (const event of session.send(`call find_order with {"id": "${id}"}`)) {
    if (event.type === 'tool_call') console.log('call  ', event.name, JSON.stringify(event.input));
    if (event.type === 'tool_result') console.log('result', event.isError, event.text);
  }
}
