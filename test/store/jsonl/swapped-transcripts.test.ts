import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { repairSession } from '../../../src/engine/history/repair.ts';
import { JsonlHome, say } from '../../support/store/jsonl-home.ts';

const DAMAGE = { code: 'STORE_CORRUPT', details: { next: expect.stringContaining('reprise repair aa') } };

describe.each([
  ['as long', ['six'], ['two']],
  ['longer', ['one'], ['two', 'and more']],
  ['shorter', ['one', 'and more'], ['two']],
])('the transcript of another session, %s, in the place of one', (_what, ours, theirs) => {
  test.each(['while the store is closed', 'while it is open'])(
    'is never read or continued as ours, %s',
    async (when) => {
      await using home = new JsonlHome();
      await home.open();
      await home.seed('aa', ...ours);
      await home.seed('bb', ...theirs);
      const isOpen = when === 'while it is open';
      // What is not synced yet would be written again from the journal.
      await home.close();
      if (isOpen) await home.open();
      const whole = readFileSync(home.file('aa'));
      copyFileSync(home.file('bb'), home.file('aa'));
      const store = isOpen ? home.store : await home.open();
      await expect(store.read('aa')).rejects.toMatchObject(DAMAGE);
      await expect(store.tail('aa')).rejects.toMatchObject(DAMAGE);
      if (!isOpen || ours[0] !== 'six')
        await expect(store.append('aa', [say('next')])).rejects.toMatchObject({
          code: 'STORE_CORRUPT',
          outcome: 'none',
        });
      expect(await store.verify('aa')).toMatchObject({
        status: 'corrupt',
        findings: [{ kind: 'other-session' }],
      });
      expect((await store.search({ text: 'two', sessionId: 'aa' })).hits).toEqual([]);
      const { repaired } = await repairSession(store, await store.get('aa'));
      expect(await home.texts(repaired)).toEqual(['reprise.repair']);
      await store.append('bb', [say('goes on')]);
      expect(await home.texts('bb')).toEqual([...theirs, 'goes on']);
      await home.followed();
      expect(readFileSync(home.file('aa'), 'utf8')).not.toContain('goes on');
      // Put back, it is whole again.
      await home.close();
      writeFileSync(home.file('aa'), whole);
      await home.open();
      await home.store.append('aa', [say('back')]);
      expect(await home.texts('aa')).toEqual([...ours, 'back']);
      expect(await home.store.verify()).toMatchObject({ status: 'clean' });
    },
  );
});
