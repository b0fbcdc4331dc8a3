import { expect, test } from 'vitest';
import { lastSpokenAt } from '../../../src/engine/intake/last-spoken.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { KEY } from '../../support/engine/engine.ts';

test('of all notes, only an undone reset counts as activity', async () => {
  await using store = await openMemoryStore({});
  const { id } = await store.create({ key: KEY, activate: true });
  const said = Date.parse('2026-01-01T00:00:00Z');
  await store.append(id, [{ type: 'message', message: { role: 'user', content: 'hi', timestamp: said } }]);
  await store.append(id, [{ type: 'custom', customType: 'editor.step', data: { reason: 'undo' } }]);
  expect(await lastSpokenAt(store, await store.get(id))).toEqual(new Date(said));
  await store.activate(KEY, (await store.create({ key: KEY })).id);
  await store.activate(KEY, id, { reason: 'undo' });
  const { lastAt } = await store.get(id);
  expect(await lastSpokenAt(store, await store.get(id))).toEqual(new Date(lastAt));
});
