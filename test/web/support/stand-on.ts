import { afterEach, beforeEach, vi } from 'vitest';
import { setToken, signOut } from '../../../web/src/api/auth.ts';
import { type OpenedServer, TOKEN } from '../../support/server/server.ts';
import { Kept } from './kept.ts';

type Ask = (asked: URL, send: () => Promise<Response>) => Promise<Response>;

const { fetch } = globalThis;

/** The globals of a page in a tab that is not visible. */
export function inTab(): void {
  beforeEach(() => {
    vi.stubGlobal('sessionStorage', new Kept());
    vi.stubGlobal('localStorage', new Kept());
    vi.stubGlobal('document', { hidden: true, querySelector: () => null });
  });
  afterEach(() => vi.unstubAllGlobals());
}

/** Its address, with something between it and the server that may hold back what is asked and answered. */
export function standOn({ url }: OpenedServer, ask: Ask = (_asked, send) => send()): void {
  vi.stubGlobal('location', { href: `${url}/`, hash: '' });
  vi.stubGlobal('fetch', (asked: URL, init: RequestInit) => ask(asked, () => fetch(asked, init)));
  // The one before was another server's.
  signOut();
  setToken(TOKEN, { keep: false });
}
