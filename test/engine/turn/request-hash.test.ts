import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { requestHash } from '../../../src/engine/turn/request-hash.ts';
import type { ModelRequest } from '../../../src/models/model.ts';
import type { ProjectedMessage } from '../../../src/transcript/render/conversation.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

/** As docs and other programs have it: of the JSON text of all of it at once. */
function plainHash({ system = '', messages, tools = [] }: ModelRequest): string {
  return createHash('sha256').update(JSON.stringify({ system, tools, messages })).digest('hex');
}

const part = fc.record({ type: fc.constant('text' as const), text: fc.string({ unit: 'binary' }) });
const message = fc
  .record({ role: fc.constant('user' as const), content: fc.array(part, { maxLength: 3 }) })
  .map((made): ProjectedMessage => Object.freeze(made));
const step = fc.record({
  keep: fc.nat({ max: 6 }),
  add: fc.array(message, { maxLength: 3 }),
  system: fc.constantFrom('', 'be kind'),
  hasTool: fc.boolean(),
});

test('the hash of a request is that of all it says, whatever was hashed before it', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      let messages: readonly ProjectedMessage[] = [];
      for (const { keep, add, system, hasTool } of steps) {
        messages = [...messages.slice(0, Math.max(0, messages.length - keep)), ...add];
        const tools = hasTool ? [{ name: 'read', inputSchema: { type: 'object' } }] : [];
        const request = { system, messages, tools };
        expect(requestHash(request)).toBe(plainHash(request));
        expect(requestHash(request)).toBe(plainHash(request));
      }
    }),
  );
});

test('a message that was changed after it was hashed is hashed as it is now', () => {
  const first = { role: 'user' as const, content: [{ type: 'text' as const, text: 'one' }] };
  const request = { messages: [first] };
  expect(requestHash(request)).toBe(plainHash(request));
  first.content[0] = { type: 'text', text: 'two' };
  const longer = { messages: [first, { role: 'assistant' as const, content: [] }] };
  expect(requestHash(longer)).toBe(plainHash(longer));
});
