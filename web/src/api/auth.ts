import { type ReadonlySignal, signal } from '@preact/signals';

const KEY = 'reprise.token';

/** If empty, the sign-in form is shown. */
const held = signal('');
/** Why the form is shown: there was no token yet, or the token has changed. */
export const signInReason = signal<'none' | 'changed'>('none');
export const token: ReadonlySignal<string> = held;

/**
 * Takes the token from the URL fragment, which is never sent to a server, and removes it from the address first.
 * Without one, it uses the token stored in this tab or, if the user chose that, in this browser. Because anyone can
 * create a link, its token replaces a stored one only if the server accepts it.
 */
export function loadToken({ probe, onRefused }: LinkOptions): void {
  const given = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  // A page that is open already is signed in by what it holds, which may be stored nowhere.
  const stored = held.value || (sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '');
  held.value = stored;
  if (given === undefined) return;
  const rest = location.hash.replace(/[#&]token=[^&]+/, '').replace(/^&/, '#');
  history.replaceState(null, '', `${location.pathname}${location.search}${rest}`);
  const linked = decode(given);
  if (linked === stored) return;
  if (stored === '') setToken(linked, { keep: false });
  else probe(linked).then(() => setToken(linked, { keep: false }), onRefused);
}

export interface LinkOptions {
  /** Rejects if the server does not accept the token. */
  readonly probe: (token: string) => Promise<unknown>;
  /** The token of the link was refused; the current one stays. */
  readonly onRefused: () => void;
}

/** What `token` is while a cookie signs the page in, which scripts cannot read. */
export const COOKIE = 'cookie';

/**
 * Signs in with the cookie of the browser, if there is a valid one. A token in the link or the storage comes first.
 * @param probe rejects without a valid cookie.
 */
export async function loadCookie(probe: () => Promise<unknown>): Promise<void> {
  if (held.value !== '') return;
  try {
    await probe();
    if (held.value === '') held.value = COOKIE;
  } catch {
    // No cookie, or one of an earlier token: the sign-in form is shown.
  }
}

/**
 * The server has set a cookie for this token, so the token need not be stored where scripts read it. This tab uses it
 * until it is closed.
 */
export function tokenIsKept(value: string): void {
  if (sessionStorage.getItem(KEY) === value) sessionStorage.removeItem(KEY);
  if (localStorage.getItem(KEY) === value) localStorage.removeItem(KEY);
}

export function isKeptLong(value: string): boolean {
  return localStorage.getItem(KEY) === value;
}

export function setToken(value: string, { keep }: { readonly keep: boolean }): void {
  sessionStorage.setItem(KEY, value);
  if (keep) localStorage.setItem(KEY, value);
  signInReason.value = 'none';
  held.value = value;
}

/** Handles a token that the server refused. Drafts stay. */
export function refuseToken(refused: string): void {
  // Another tab, or this one while an older request was running, may have signed in with a new token.
  if (localStorage.getItem(KEY) === refused) localStorage.removeItem(KEY);
  if (held.value !== refused) return;
  forget();
  signInReason.value = 'changed';
}

export function signOut(): void {
  localStorage.removeItem(KEY);
  forget();
  signInReason.value = 'none';
}

function forget(): void {
  sessionStorage.removeItem(KEY);
  held.value = '';
}

function decode(given: string): string {
  try {
    return decodeURIComponent(given);
  } catch {
    return given; // an incomplete percent escape: the server will refuse the token
  }
}
