import { batch, computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import type { AgentView, SessionList, SessionListQuery, SessionView } from 'reprise/client';
import { attempt, client, failureText } from '../api/api.ts';
import { token } from '../api/auth.ts';
import { channelOf, isJob } from '../conversation/session-keys.ts';
import { say } from '../shell/toasts.ts';
import { sessionsOfMember } from './member-sessions.ts';
import { behindPage, matchesText, mergeSessions } from './merge-sessions.ts';

export interface Facets {
  readonly agentId: string;
  readonly channel: string;
  /** An id, or part of a name. */
  readonly member: string;
  readonly kind: string;
  readonly status: 'open' | 'deleted' | 'any';
}

export const NO_FACETS: Facets = { agentId: '', channel: '', member: '', kind: '', status: 'open' };

export const filterText = signal('');
export const facets = signal<Facets>(NO_FACETS);
export const showJobs = signal(false);
export const agents = signal<readonly AgentView[]>([]);

const PAGE = 100;
const POLL_MS = 3000;
const TYPING_MS = 150;
/** Only every tenth refresh, because each needs one request per channel. */
const LOOKS_FOR_MEMBER = 10;

const loaded = signal<readonly SessionView[]>([]);
const cursor = signal<string | null>(null);
const isFirst = signal(true);
const part = signal(false);
const incomplete = signal(false);
const looks = signal(0);
let isLoading = false;
let generation = 0;

export const hasMoreSessions: ReadonlySignal<boolean> = computed(() => cursor.value !== null);
/** The member has more sessions than were read. */
export const isPartOfMember: ReadonlySignal<boolean> = part;
/** The server is rebuilding its index, so sessions are missing. */
export const isIncomplete: ReadonlySignal<boolean> = incomplete;
/** Counts refreshes of the list. */
export const looked: ReadonlySignal<number> = looks;
/** False until the first answer. */
export const isListed: ReadonlySignal<boolean> = computed(() => !isFirst.value);
export const isShown = (session: SessionView): boolean =>
  (showJobs.value || facets.value.kind !== '' || !isJob(session)) && matchesText(session, filterText.value);
export const sessions: ReadonlySignal<readonly SessionView[]> = computed(() => loaded.value.filter(isShown));

/** Channels seen so far, because a filtered list contains only one. */
export const channelNames: ReadonlySignal<readonly string[]> = computed(() => {
  const met = loaded.value.flatMap((session) => channelOf(session) ?? []);
  const { channel } = facets.value;
  return [...new Set(channel === '' ? met : [channel, ...met])].sort();
});

export function knownSession(id: string): SessionView | undefined {
  return loaded.value.find((session) => session.id === id);
}

/** Updates a session after an action on this page, without waiting for the next refresh. */
export function putSession(session: SessionView): void {
  const { status } = facets.value;
  const fits = status === 'any' || session.status === status;
  const rest = loaded.value.filter(({ id }) => id !== session.id);
  loaded.value = fits ? mergeSessions(rest, [session]) : rest;
}

/** The filters as a query for the server. */
export function listQuery(): Partial<SessionListQuery> & { agentId?: string } {
  const { agentId, channel, kind, status } = facets.value;
  const q = filterText.value.trim();
  return {
    limit: PAGE,
    status,
    ...(agentId !== '' && { agentId }),
    ...(channel !== '' && { channel }),
    ...(kind !== '' && { kind }),
    ...(q !== '' && { q }),
  };
}

/** Loads the next page when the end of the list is visible. */
export async function loadMore(): Promise<void> {
  if (isLoading || cursor.value === null) return;
  isLoading = true;
  const mine = generation;
  await attempt(async () => {
    const page = await client.value.sessions({ ...listQuery(), cursor: cursor.value ?? '' });
    if (mine !== generation) return;
    batch(() => {
      loaded.value = mergeSessions(loaded.value, page.data);
      cursor.value = page.cursor;
    });
  });
  isLoading = false;
}

type FirstPage = Pick<SessionList, 'data' | 'cursor' | 'rebuilding'> & { readonly isPart?: boolean };

async function firstPage(): Promise<FirstPage> {
  if (facets.value.member === '') return client.value.sessions(listQuery());
  return { ...(await sessionsOfMember(facets.value)), cursor: null };
}

/** Loads the first page for changed filters. The old list stays visible until the answer arrives. */
async function reload(): Promise<void> {
  const mine = ++generation;
  isLoading = false;
  await attempt(async () => {
    const page = await firstPage();
    if (mine !== generation) return;
    batch(() => {
      loaded.value = page.data;
      cursor.value = page.cursor;
      part.value = page.isPart === true;
      incomplete.value = page.rebuilding !== undefined;
      isFirst.value = false;
    });
  });
}

/** Sessions that changed are at the top, so the first page is enough. */
async function refreshSessions(): Promise<void> {
  if (facets.value.member !== '') {
    if (looks.value % LOOKS_FOR_MEMBER === 0) await reload();
    return;
  }
  const mine = generation;
  try {
    const page = await client.value.sessions(listQuery());
    if (mine !== generation) return;
    batch(() => {
      loaded.value = mergeSessions(behindPage(loaded.value, page), page.data);
      if (!page.hasMore) cursor.value = null;
      incomplete.value = page.rebuilding !== undefined;
      isFirst.value = false;
    });
  } catch (error) {
    const text = failureText(error);
    if (text !== undefined) say(text, { kind: 'error' });
  }
}

/**
 * Refreshes the list while the user is signed in. @returns a function that ends this.
 */
export function keepListing(): () => void {
  let typing: ReturnType<typeof setTimeout> | undefined;
  let isPolling = false;
  const stopFilters = effect(() => {
    const [text, chosen, signedIn] = [filterText.value, facets.value, token.value];
    clearTimeout(typing);
    if (signedIn === '') return;
    const wait = text === '' || chosen === NO_FACETS ? 0 : TYPING_MS;
    typing = setTimeout(
      () => void reload(),
      untracked(() => (isFirst.value ? 0 : Math.max(wait, text === '' ? 0 : TYPING_MS))),
    );
  });
  const stopAgents = effect(() => {
    if (token.value === '') return;
    void untracked(() =>
      attempt(async () => {
        agents.value = (await client.value.agents()).data;
      }),
    );
  });
  const poll = async (): Promise<void> => {
    if (isPolling || token.value === '' || document.hidden || isFirst.value) return;
    isPolling = true;
    await refreshSessions();
    looks.value++;
    isPolling = false;
  };
  const timer = setInterval(() => void poll(), POLL_MS);
  const onVisible = (): void => void poll();
  document.addEventListener('visibilitychange', onVisible);
  return () => {
    stopFilters();
    stopAgents();
    clearTimeout(typing);
    clearInterval(timer);
    document.removeEventListener('visibilitychange', onVisible);
  };
}
