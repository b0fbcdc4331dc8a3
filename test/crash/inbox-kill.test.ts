import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openReprise } from '../../src/config/open-reprise.ts';
import { startDriver } from '../../testing/crash/driver-process.ts';
import { scripted } from '../support/engine/engine.ts';
import { bundledProgram } from '../support/processes/bundled-program.ts';

const script = bundledProgram('conversation-driver');
const TEXTS = ['one', 'two', 'three', 'four', 'five'];

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-inbox-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test.for(['queue', 'collect', 'steer'] as const)(
  'S9 five messages accepted by a process that is killed are answered by the next, each stored once (%s)',
  async (queue) => {
    const conversation = { agentId: 'main', channel: 'telegram', peer: 'ada', peerKind: 'direct' };
    const accepted: string[] = [];
    {
      await using driver = await startDriver({ store: 'jsonl', home, script, env: { REPRISE_RUN: 'false' } });
      for (const [i, text] of TEXTS.entries()) {
        const delivery = { conversation, text, queue, sender: 'ada', messageId: `${i}` };
        const answer = await driver.send({ op: 'receive', delivery });
        expect(answer).toMatchObject({ ok: true, fresh: true });
        accepted.push(String(answer['inboxId']));
      }
      driver.kill();
      await driver.exited;
    }
    const model = scripted(queue === 'queue' ? TEXTS.map((text) => `re ${text}`) : ['re all']);
    await using reprise = await openReprise({ home, model });
    await reprise.idle();
    model.assertDone();
    const ends = await Promise.all(accepted.map((inboxId) => reprise.inbox(inboxId)));
    expect(ends.map(({ reply }) => reply?.text)).toEqual(
      TEXTS.map((text) => (queue === 'queue' ? `re ${text}` : 're all')),
    );
    const { entries } = await reprise.store.read(ends[0]?.sessionId ?? '', { limit: 100 });
    for (const text of TEXTS)
      expect(JSON.stringify(entries).match(new RegExp(`(?<!re )\\b${text}"`, 'g'))).toHaveLength(1);
  },
);
