import { describe, expect, test } from 'vitest';
import type { Store, Tool } from '../../../src/index.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { entriesOf, KEY, openEngine, scripted } from '../../support/engine/engine.ts';

/** A message whose runner died after it had stored these entries: the row is running, nobody holds the session. */
async function abandon(store: Store, ...after: readonly object[]): Promise<string> {
  const receipt = await store.inbox.receive({
    sessionKey: KEY,
    source: 'test',
    body: { text: 'pay the bill' },
  });
  const { inboxId, sessionId } = receipt;
  const lease = await store.lease(sessionId);
  const { epoch } = lease;
  await store.inbox.take(sessionId, { epoch });
  const user = { type: 'message', message: { role: 'user', content: 'pay the bill' } };
  const { createdAt } = await store.inbox.get(inboxId);
  const said = { ...user, message: { ...user.message, timestamp: Date.parse(createdAt) } };
  await store.append(sessionId, [said], { key: inboxId, epoch });
  for (const message of after) await store.append(sessionId, [{ type: 'message', message }], { epoch });
  await lease.release();
  return inboxId;
}

function payTool(safe: boolean): Tool & { runs: number } {
  const tool = {
    name: 'pay',
    description: 'Pays.',
    inputSchema: { type: 'object' },
    safe,
    runs: 0,
    run: () => {
      tool.runs++;
      return 'paid';
    },
  };
  return tool;
}

const CALL = { type: 'toolCall', id: 'c1', name: 'pay', arguments: {} };
const ASKED = {
  role: 'assistant',
  content: [CALL],
  provider: 'scripted',
  model: 'scripted',
  stopReason: 'toolUse',
};

describe('a turn whose process was killed', () => {
  test('is not run again once a tool with side effects was called; its sender is told and the session goes on', async () => {
    const store = await openMemoryStore({});
    const inboxId = await abandon(store, ASKED);
    const tool = payTool(false);
    await using at = await openEngine(scripted(['what next?']), { store, tools: [tool] });
    await at.session.send('and now?').result;
    expect(tool.runs).toBe(0);
    expect(await at.reprise.inbox(inboxId)).toMatchObject({
      status: 'interrupted',
      error: { code: 'ABORTED' },
    });
    const results = (await entriesOf(at.session)).flatMap(({ message }) =>
      (message as { role?: string } | undefined)?.role === 'toolResult' ? [message] : [],
    );
    expect(results).toMatchObject([{ toolCallId: 'c1', isError: true }]);
    at.model.assertDone();
  });

  test.each([
    ['before the model answered', []],
    ['after a call of a safe tool', [ASKED]],
  ])('goes on %s, with its message stored once', async (_when, stored) => {
    const store = await openMemoryStore({});
    const inboxId = await abandon(store, ...stored);
    const tool = payTool(true);
    await using at = await openEngine(scripted(['done it', 'yes']), {
      store,
      tools: [tool],
      session: { queue: { mode: 'queue' } },
    });
    await at.session.send('and now?').result;
    expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'done', reply: { text: 'done it' } });
    expect(tool.runs).toBe(0);
    expect(JSON.stringify(await entriesOf(at.session)).split('pay the bill')).toHaveLength(2);
    at.model.assertDone();
  });
});
