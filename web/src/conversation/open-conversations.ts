import { effect, type ReadonlySignal, signal, untracked } from '@preact/signals';
import { token } from '../api/auth.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { route } from '../shell/route.ts';
import { say } from '../shell/toasts.ts';
import { facets, knownSession, looked } from '../sidebar/sessions.ts';
import { Conversation } from './conversation.ts';

const shown = signal<Conversation | undefined>(undefined);
export const conversation: ReadonlySignal<Conversation | undefined> = shown;
/** The entry to scroll to, until it is shown. */
export const wantedEntry = signal<string | undefined>(undefined);

/** Conversations with messages on the way; they stay active while another one is shown. */
const kept = new Map<string, Conversation>();
/** Counts changes of `kept`. */
const changes = signal(0);

/** Whether this page waits for an answer in the session. */
export function isAnswering(id: string): boolean {
  void changes.value;
  return kept.get(id)?.isBusy === true;
}

function keep(made: Conversation): Conversation {
  kept.set(made.id, made);
  queueMicrotask(() => {
    changes.value++;
  });
  return made;
}

function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `web-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function find(agentId: string, id: string, entry: string | undefined): Conversation {
  const known = kept.get(id);
  if (known !== undefined) {
    if (entry !== undefined) void show(known, entry);
    else if (known.history.hasNewer.value) void known.open();
    return known;
  }
  const made = keep(new Conversation(agentId, id));
  void show(made, entry);
  return made;
}

async function show(made: Conversation, entry: string | undefined): Promise<void> {
  const isLoaded = made.history.rows.value.some(({ id, seq }) => id === entry || String(seq) === entry);
  const isThere = isLoaded || (await made.open(entry));
  // If the user has navigated away meanwhile, do nothing: forked sessions contain the same entry ids.
  const at = route.value;
  if (at.view !== 'session' || at.sessionId !== made.id || at.entry !== entry) return;
  if (!isThere) say(t('notHere'));
  else if (entry !== undefined) wantedEntry.value = entry;
}

/**
 * Opens conversations as the route changes. @returns a function that ends this.
 */
export function keepOpen(): () => void {
  const stopRoute = effect(() => {
    const at = route.value;
    if (token.value === '') return;
    untracked(() => {
      const before = shown.value;
      wantedEntry.value = undefined;
      if (at.view === 'session') shown.value = find(at.agentId, at.sessionId, at.entry);
      else if (at.view === 'new' && before?.state.value !== 'new') shown.value = begin();
      for (const [id, other] of kept)
        if (other !== shown.value && !other.isBusy) {
          other.close();
          kept.delete(id);
        }
    });
  });
  let wasListed = '';
  const stopNews = effect(() => {
    const current = shown.value;
    const listed = current && knownSession(current.id);
    if (current !== undefined && listed !== undefined) untracked(() => void current.catchUp(listed.lastSeq));
    // It is no longer in the list: it was renamed and no longer matches the filter, or another client deleted it.
    else if (current?.id === wasListed) untracked(() => void current.look());
    wasListed = listed?.id ?? '';
  });
  const stopLooks = effect(() => {
    if (looked.value === 0) return;
    untracked(() => {
      const current = shown.value;
      // The list reports changes of this session, unless a filter excludes it or the list is refreshed rarely.
      const isTold = current && facets.value.member === '' && knownSession(current.id) !== undefined;
      if (current?.state.value === 'ready' && isTold === false) void current.look();
    });
  });
  const stopToken = effect(() => {
    if (token.value !== '') return;
    // Signed out: close everything, and keep the drafts.
    untracked(() => {
      for (const [id, other] of kept) {
        other.close();
        kept.delete(id);
      }
    });
    shown.value = undefined;
    closeDialog();
  });
  return () => {
    stopRoute();
    stopNews();
    stopLooks();
    stopToken();
  };
}

/** Selects the agent of a new session. */
export function chooseAgent(agentId: string): void {
  if (shown.value?.state.value === 'new') kept.delete(shown.value.id);
  shown.value = begin(agentId);
}

/** A session that does not exist yet: its first message creates it, with an id chosen by the page. */
function begin(agentId = 'main'): Conversation {
  return keep(new Conversation(agentId, newSessionId(), { isNew: true }));
}
