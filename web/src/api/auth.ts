import { type ReadonlySignal, signal } from '@preact/signals';

const KEY = 'reprise.token';

/** Empty: the form asks for it. */
const held = signal('');
/** Why the form is shown, beyond that there is no token yet. */
export const signInReason = signal<'none' | 'changed'>('none');
export const token: ReadonlySignal<string> = held;

/**
 * Takes the token from the fragment of the address, which no server ever sees, and removes it there before anything else
 * happens. Without one, the token that this tab or, where its user asked for it, this browser stored. Anybody can write a
 * link, so a token in it replaces one that is stored only if the server accepts it.
 */
export function loadToken({ probe, onRefused }: LinkOptions): void {
  const given = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  const stored = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
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
  /** The token of a link was refused, and the present one stays. */
  readonly onRefused: () => void;
}

/**
 * A tab that opens without a token asks the other open tabs of this page for theirs, so that signing in once is enough.
 * Only pages of this origin and path hear it, and nothing is stored beyond the tab.
 */
export function shareToken(): void {
  const tabs = new BroadcastChannel(`${KEY} ${location.pathname}`);
  let isAsking = held.value === '';
  tabs.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (data === 'ask' && held.value !== '') tabs.postMessage({ token: held.value });
    if (!isAsking || held.value !== '' || typeof data !== 'object' || data === null) return;
    // Once: who signs out here stays signed out.
    isAsking = false;
    if ('token' in data && typeof data.token === 'string') setToken(data.token, { keep: false });
  });
  if (isAsking) tabs.postMessage('ask');
}

export function setToken(value: string, { keep }: { readonly keep: boolean }): void {
  sessionStorage.setItem(KEY, value);
  if (keep) localStorage.setItem(KEY, value);
  signInReason.value = 'none';
  held.value = value;
}

/** The server refused it. What was written stays where it is. */
export function refuseToken(refused: string): void {
  // Another tab may have signed in anew meanwhile, and so may this one while an older request was on its way.
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
    return given; // a broken link: the server refuses it
  }
}
