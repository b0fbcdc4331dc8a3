import { type ReadonlySignal, signal } from '@preact/signals';

/** Where the page is; it stands in the fragment, so that links work and the server needs to know none of it. */
export type Route = { readonly view: 'new' } | { readonly view: 'chats' | 'stats' } | SessionRoute;

export interface SessionRoute {
  readonly view: 'session';
  readonly agentId: string;
  readonly sessionId: string;
  /** The id or seq of an entry to show. */
  readonly entry?: string;
}

export function parseRoute(hash: string): Route {
  const [, view = '', agentId = '', sessionId = '', entry] = hash.replace(/^#/, '').split('/').map(decode);
  if (view === 'chats' || view === 'stats') return { view };
  if (view !== 's' || agentId === '' || sessionId === '') return { view: 'new' };
  return { view: 'session', agentId, sessionId, ...(entry !== undefined && entry !== '' && { entry }) };
}

export function formatRoute(to: Route): string {
  if (to.view === 'new') return '#/';
  if (to.view !== 'session') return `#/${to.view}`;
  const { agentId, sessionId, entry } = to;
  const parts = ['s', agentId, sessionId, ...(entry === undefined ? [] : [entry])];
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return ''; // a broken link
  }
}

const current = signal<Route>({ view: 'new' });
export const route: ReadonlySignal<Route> = current;

export function startRouting(): void {
  const read = (): void => {
    current.value = parseRoute(location.hash);
  };
  addEventListener('hashchange', read);
  read();
}

export function go(to: Route, { replace = false }: { readonly replace?: boolean } = {}): void {
  const hash = formatRoute(to);
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, '', hash);
    current.value = to;
  } else location.hash = hash;
}
