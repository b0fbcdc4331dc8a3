import { beforeEach, expect, test, vi } from 'vitest';
import { loadDraft, loadEdit, takeBackUnsent } from '../../web/src/conversation/drafts.ts';
import { Kept } from './support/kept.ts';

let tab: Kept;
beforeEach(() => {
  tab = new Kept();
  vi.stubGlobal('sessionStorage', tab);
});

test('I-71 a draft of an older page, which is plain text, is in the field of the newer one', () => {
  tab.set('reprise.unsent.s', JSON.stringify(['first', 'second']));
  tab.set('reprise.draft.s', 'third');
  takeBackUnsent('s');
  expect(loadDraft('s')).toBe('first\n\nsecond\n\nthird');
  expect(loadEdit('s')).toBeUndefined();
  expect([...tab.keys()]).toEqual(['reprise.draft.s']);
});
