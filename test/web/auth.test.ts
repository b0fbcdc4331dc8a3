import { beforeEach, expect, test, vi } from 'vitest';
import { loadToken, refuseToken, setToken, signOut, token } from '../../web/src/stores/auth.ts';
import { Kept } from './support/kept.ts';

const KEY = 'reprise.token';
let browser: Kept;

beforeEach(() => {
  browser = new Kept();
  vi.stubGlobal('localStorage', browser);
  vi.stubGlobal('sessionStorage', new Kept());
});

function visit(hash: string): string {
  let shown = hash;
  vi.stubGlobal('location', { hash, pathname: '/', search: '' });
  vi.stubGlobal('history', { replaceState: (_: unknown, __: string, to: string) => (shown = to) });
  loadToken();
  return shown;
}

test('a token that was refused late takes no newer one with it, of this tab or another', () => {
  setToken('old', { keep: true });
  expect(visit('#token=new')).toBe('/');
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
