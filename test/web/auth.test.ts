import { beforeEach, expect, test, vi } from 'vitest';
import { loadToken, refuseToken, setToken, signOut, token } from '../../web/src/api/auth.ts';
import { Kept } from './support/kept.ts';

const KEY = 'reprise.token';
let browser: Kept;

beforeEach(() => {
  browser = new Kept();
  vi.stubGlobal('localStorage', browser);
  vi.stubGlobal('sessionStorage', new Kept());
});

const accept = (): Promise<void> => Promise.resolve();
const refuse = (): Promise<void> => Promise.reject(new Error('401'));

function visit(hash: string, probe: typeof accept = accept, onRefused = (): void => undefined): string {
  let shown = hash;
  vi.stubGlobal('location', { hash, pathname: '/', search: '' });
  vi.stubGlobal('history', { replaceState: (_: unknown, __: string, to: string) => (shown = to) });
  loadToken({ probe, onRefused });
  return shown;
}

test('a late refusal of an old token does not remove a newer one, of this tab or another', async () => {
  setToken('old', { keep: true });
  expect(visit('#token=new')).toBe('/');
  await expect.poll(() => token.value).toBe('new');
  refuseToken('old');
  expect(token.value).toBe('new');
  expect(browser.get(KEY)).toBeUndefined();
  browser.set(KEY, 'of another tab');
  refuseToken('new');
  expect(token.value).toBe('');
  expect(browser.get(KEY)).toBe('of another tab');
  signOut();
  expect(browser.get(KEY)).toBeUndefined();
});

test('a link whose token cannot be read is a wrong token, not an empty page', () => {
  expect(visit('#token=%')).toBe('/');
  expect(token.value).toBe('%');
});

test('a link with a wrong token signs no user out: the present token stays, and the user is informed', async () => {
  setToken('mine', { keep: true });
  const told = Promise.withResolvers<void>();
  expect(visit('#token=x', refuse, told.resolve)).toBe('/');
  expect(token.value).toBe('mine');
  await told.promise;
  expect([token.value, browser.get(KEY), sessionStorage.getItem(KEY)]).toEqual(['mine', 'mine', 'mine']);
});

test('a link with a valid token signs in, whatever token was stored before', async () => {
  setToken('mine', { keep: false });
  visit('#token=better');
  await expect.poll(() => token.value).toBe('better');
  expect(sessionStorage.getItem(KEY)).toBe('better');
});
