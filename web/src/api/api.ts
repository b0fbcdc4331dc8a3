import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Client, createClient, RepriseError } from 'reprise/client';
import { errorText, t } from '../i18n/strings.ts';
import { say } from '../shell/toasts.ts';
import { COOKIE, isKeptLong, refuseToken, token, tokenIsKept } from './auth.ts';

/** Whether the server responds. */
export const connection = signal<'online' | 'reconnecting'>('online');

/** The page's own address, which may have a path added by a proxy. */
function serverUrl(): string {
  return new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');
}

/** Retries without a limit, because the user sees that the page is reconnecting. Retries never repeat an action. */
const FOREVER = Number.MAX_SAFE_INTEGER;

export const client: ReadonlySignal<Client> = computed(() => {
  const held = token.value;
  const common = { url: serverUrl(), retries: FOREVER, fetch: watchedFetch(held) };
  return createClient(held === COOKIE ? common : { ...common, token: held });
});

/** For the sign-in form: resolves if the token is right. One retry only, so that the form answers soon. */
export function probe(candidate: string): Promise<unknown> {
  return createClient({ url: serverUrl(), token: candidate, retries: 1 }).agents();
}

/** Resolves if the cookie of the browser is valid. */
export function probeCookie(): Promise<unknown> {
  return createClient({ url: serverUrl(), retries: 1 }).agents();
}

/** Asks for a cookie that signs in every tab; without it the token stays in the tab. */
export async function askForCookie(value: string): Promise<void> {
  try {
    const { ok } = await fetch(`${serverUrl()}/api/sign-in`, {
      method: 'POST',
      headers: { authorization: `Bearer ${value}`, 'content-type': 'application/json' },
      body: JSON.stringify({ keep: isKeptLong(value) }),
    });
    if (ok) tokenIsKept(value);
  } catch {
    // the server is gone for a moment; the token is still stored
  }
}

export function dropCookie(): void {
  void fetch(`${serverUrl()}/api/sign-out`, { method: 'POST' }).catch(() => undefined);
}

function watchedFetch(held: string): typeof fetch {
  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      // An HTML page instead of an API answer comes from a proxy: a password page, or an error because the server is
      // down.
      const isPage = response.headers.get('content-type')?.includes('html');
      connection.value = isPage || /50[23]/.test(`${response.status}`) ? 'reconnecting' : 'online';
      // Refuse the token of this request: the user may have signed in with another one meanwhile.
      if (response.status === 401) refuseToken(held);
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true || isTimeout(init.signal)) connection.value = 'reconnecting';
      throw error;
    }
  };
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** The error text for the user; undefined if they cancelled the action or the sign-in form is shown. */
export function failureText(error: unknown): string | undefined {
  if (isAbort(error)) return undefined;
  if (!(error instanceof RepriseError)) return String(error);
  if (error.code === 'UNAUTHORIZED') return undefined;
  // The page asked for a route that this server does not have: they have different versions.
  if (error.why?.code === 'request.noRoute') return t('otherVersion');
  return errorText(error);
}

/** Runs an action of the user and shows its error, if any. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const text = failureText(error);
    if (text !== undefined) say(text, { kind: 'error' });
    return undefined;
  }
}
