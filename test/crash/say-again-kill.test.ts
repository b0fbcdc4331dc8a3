import { describe, expect, test } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { TOKEN } from '../support/server/server.ts';
import { killServer, type RunningServer, ServerHome } from '../support/server/server-process.ts';

const clientOf = ({ url }: RunningServer, retries: number): Client =>
  createClient({ url, token: TOKEN, retries, backoffMs: 50 });

async function finish(client: Client, inboxId: string): Promise<string> {
  let text = '';
  for await (const event of client.session('s').stream({ inboxId }))
    if (event.type === 'done') text = event.text;
  return text;
}

describe('a server that is killed while a message is sent again', () => {
  // From before the request has arrived until after it was answered: whatever moment it dies in, the same holds.
  test.each([0, 1, 3, 'all'])(
    'has stored it once when the request is repeated with the same key (killed after %s looks)',
    async (looks) => {
      await using home = new ServerHome();
      const first = await home.start(['one', 'two…']);
      const client = clientOf(first, 0);
      for await (const event of client.chat('main', { message: 'go', sessionId: 's' }))
        if (event.type === 'done') expect(event.text).toBe('one');
      const again = { idempotencyKey: 'the-same' };
      const asked = client
        .session('s')
        .command('/retry', again)
        .catch(() => undefined);
      if (looks === 'all') expect(await asked).toMatchObject({ name: 'retry' });
      else
        for (let i = 0; i < Number(looks); i++)
          await client
            .session('s')
            .status()
            .catch(() => undefined);
      await killServer(first);
      await asked;
      const second = await home.start(['three', 'not to be said']);
      const next = clientOf(second, 20);
      const told = await next.session('s').command('/retry', again);
      expect(await next.session('s').command('/retry', again)).toEqual(told);
      expect(await finish(next, told.inboxId ?? '')).toBe('three');
      const { data } = await next.session('s').history();
      expect(data.map(({ text }) => text)).toEqual(['go', 'three']);
      const { data: tree } = await next.session('s').tree();
      expect(JSON.stringify(tree).match(/"go"/g)).toHaveLength(2);
    },
  );
});
