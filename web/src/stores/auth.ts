import { type ReadonlySignal, signal } from '@preact/signals';

const KEY = 'reprise.token';

/** Empty: the form asks for it. */
const held = signal('');
/** Why the form is shown, beyond that there is no token yet. */
export const signInReason = signal<'none' | 'changed'>('none');
export const token: ReadonlySignal<string> = held;

/**
 * From the fragment of the address, which no server ever sees, and taken out of it before anything else happens; else
 * what this tab or, where its user asked for it, this browser kept.
 */
export function loadToken(): void {
  const given = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  if (given !== undefined) {
    const rest = location.hash.replace(/[#&]token=[^&]+/, '').replace(/^&/, '#');
    history.replaceState(null, '', `${location.pathname}${location.search}${rest}`);
    setToken(decode(given), { keep: false });
    return;
  }
  held.value = sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
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
