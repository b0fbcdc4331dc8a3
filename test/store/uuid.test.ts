import { expect, onTestFinished, test, vi } from 'vitest';
import { openReprise } from '../../src/config/open-reprise.ts';
import { uuidv7 } from '../../src/store/shared/uuid.ts';

test('a clock before 1970 still accepts messages and makes ids', async () => {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(-86_400_000);
  onTestFinished(() => clock.mockRestore());
  expect(uuidv7()).toMatch(/^00000000-0000-7/);
  await using reprise = await openReprise({ store: 'memory', model: 'offline', run: false });
  const { inboxId, fresh } = await reprise.receive({
    channel: 'telegram',
    peer: 'ann',
    sender: { id: 'ann' },
    text: 'hi',
  });
  expect(fresh).toBe(true);
  expect(await reprise.inbox(inboxId)).toMatchObject({ status: 'accepted' });
});
