import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Client, createClient, RepriseError } from 'reprise/client';
import { errorText, t } from '../i18n/strings.ts';
import { say } from '../shell/toasts.ts';
import { refuseToken, token } from './auth.ts';

/** Whether the server answers. */
export const connection = signal<'online' | 'reconnecting'>('online');

/** Beside the page, wherever a proxy put both. */
function serverUrl(): string {
  return new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');
}

/** Tries for ever: a person watches, and is told so. Nothing is done twice by it. */
const FOREVER = Number.MAX_SAFE_INTEGER;

export const client: ReadonlySignal<Client> = computed(() => {
  const held = token.value;
  return createClient({ url: serverUrl(), token: held, retries: FOREVER, fetch: watchedFetch(held) });
});

/** For the form: answers at once whether a token is right. */
export function probe(candidate: string): Promise<unknown> {
  return createClient({ url: serverUrl(), token: candidate, retries: 1 }).agents();
}

function watchedFetch(held: string): typeof fetch {
  return async (input, init) => {
    try {
      const response = await fetch(input, init);
      // A page in its place is a proxy's, which asks for a password or says that nobody is behind it.
      const isPage = response.headers.get('content-type')?.includes('html');
      connection.value = isPage || /50[23]/.test(`${response.status}`) ? 'reconnecting' : 'online';
      // The one it was sent with: an answer may come late, when somebody has signed in with another.
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

/** What a person reads of a failure; undefined: nothing, because they asked for it or are asked to sign in. */
export function failureText(error: unknown): string | undefined {
  if (isAbort(error)) return undefined;
  if (!(error instanceof RepriseError)) return String(error);
  if (error.code === 'UNAUTHORIZED') return undefined;
  // The page asked for a route that this server does not have: they have different versions.
  if (error.why?.code === 'request.noRoute') return t('otherVersion');
  return errorText(error);
}

/** Does something a person asked for, and tells them where it did not work. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    const text = failureText(error);
    if (text !== undefined) say(text, { kind: 'error' });
    return undefined;
  }
}
