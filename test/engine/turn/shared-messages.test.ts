import { expect, test } from 'vitest';
import type { ModelRequest } from '../../../src/models/model.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import type { ProjectedMessage } from '../../../src/transcript/render/conversation.ts';
import { openEngine } from '../../support/engine/engine.ts';

/** Keeps the requests themselves, not copies of them. */
function listening(requests: ModelRequest[], onRequest: (request: ModelRequest) => void = () => undefined) {
  const offline = createOfflineModel();
  return {
    ...offline,
    stream: (request: ModelRequest, options: object) => {
      requests.push(request);
      onRequest(request);
      return offline.stream(request, options);
    },
  };
}

test('a request is made of the messages of the one before it, and of what is new', async () => {
  const requests: ModelRequest[] = [];
  await using at = await openEngine(listening(requests));
  for (const text of ['one', 'two', 'three']) await at.session.send(text).result;
  const [first, second, third] = requests.map(({ messages }) => messages);
  expect([first?.length, second?.length, third?.length]).toEqual([1, 3, 5]);
  for (const [i, message] of (first ?? []).entries()) expect(second?.[i]).toBe(message);
  for (const [i, message] of (second ?? []).entries()) expect(third?.[i]).toBe(message);
  expect(third?.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: 'three' }] });
});

test('a model cannot change what the next request says', async () => {
  const told: string[] = [];
  const spoil = ({ messages }: ModelRequest): void => {
    told.push(JSON.stringify(messages));
    const [message] = messages as ProjectedMessage[];
    if (message?.role === 'user') Reflect.set(message.content, 0, { type: 'text', text: 'never said' });
    Reflect.set(messages, 0, { role: 'user', content: [{ type: 'text', text: 'nor that' }] });
  };
  await using at = await openEngine(listening([], spoil));
  for (const text of ['one', 'two']) await at.session.send(text).result;
  expect(told).toHaveLength(2);
  expect(told[1]?.startsWith(told[0]?.slice(0, -1) ?? '-')).toBe(true);
});
