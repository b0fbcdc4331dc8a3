import { type ReadonlySignal, signal } from '@preact/signals';

const KEY = 'reprise.token';

/** Empty: the form asks for it. */
const held = signal('');
/** Why the form is shown, beyond that there is no token yet. */
export const signInReason = signal<'none' | 'wrong' | 'changed'>('none');
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
    setToken(decodeURIComponent(given), { keep: false });
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
export function refuseToken(refused: string, reason: 'wrong' | 'changed' = 'changed'): void {
  // Another tab may have signed in anew meanwhile.
  if (held.value !== refused) return;
  forget();
  signInReason.value = reason;
}

export function signOut(): void {
  forget();
  signInReason.value = 'none';
}

function forget(): void {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  held.value = '';
}
