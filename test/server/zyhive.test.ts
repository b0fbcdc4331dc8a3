import { describe, expect, test } from 'vitest';
import { type Answer, startServer, type TestServer } from '../support/http.ts';

const AT = 1_708_300_000_000;
const CHAT = '/api/agents/main/chat';

function zyhiveServer(clock: () => Date = () => new Date(AT)): Promise<TestServer> {
  return startServer({}, { profile: 'zyhive', clock });
}

function eventsOf({ text }: Answer): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
}

function doneOf(answer: Answer): Record<string, unknown> {
  return eventsOf(answer).find(({ type }) => type === 'done') ?? {};
}

describe('chat ids under profile zyhive', () => {
  test('a new chat is called ses-<time>, and two that begin in the same millisecond have different ids', async () => {
    await using server = await zyhiveServer();
    const begin = (message: string): Promise<Answer> =>
      server.ask(CHAT, { method: 'POST', body: { message } });
    const ids = (await Promise.all([begin('one'), begin('two'), begin('three')])).map(
      (answer) => doneOf(answer)['sessionId'],
    );
    expect(ids.toSorted()).toEqual([`ses-${AT}`, `ses-${AT + 1}`, `ses-${AT + 2}`]);
  });

  test('a retry with the same Idempotency-Key finds the session of the first try, at any later time', async () => {
    let now = AT;
    await using server = await zyhiveServer(() => new Date(now));
    const send = (key: string): Promise<Answer> =>
      server.ask(CHAT, { method: 'POST', body: { message: 'hi' }, headers: { 'Idempotency-Key': key } });
    const [first, atOnce] = await Promise.all([send('k1'), send('k1')]);
    now += 60_000;
    const later = await send('k1');
    const other = await send('k2');
    expect([first, atOnce, later].map((answer) => doneOf(answer)['sessionId'])).toEqual(
      Array(3).fill(`ses-${AT}`),
    );
    expect(doneOf(other)['sessionId']).toBe(`ses-${now}`);
    const { messageCount } = await server.reprise.store.get(`ses-${AT}`);
    expect(messageCount).toBe(2);
  });

  test('an agent with another profile has ids of that profile', async () => {
    await using server = await startServer({}, { agents: { xiuliu: { profile: 'zyhive' } } });
    const idIn = async (agent: string): Promise<unknown> =>
      doneOf(await server.ask(`/api/agents/${agent}/chat`, { method: 'POST', body: { message: 'hi' } }))[
        'sessionId'
      ];
    expect(await idIn('xiuliu')).toMatch(/^ses-\d{13}$/);
    expect(await idIn('main')).not.toMatch(/^ses-/);
  });
});
