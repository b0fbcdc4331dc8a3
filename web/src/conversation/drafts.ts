/** Prefix of drafts, by session. They are stored in this tab and survive a reload and a new sign-in. */
const DRAFT = 'reprise.draft.';
/** Prefix of messages that were sent but not accepted yet. */
const UNSENT = 'reprise.unsent.';
/** Prefix of edits of earlier messages. */
const EDIT = 'reprise.edit.';

/** A new text for an earlier message. */
export interface Edit {
  /** The entry id of that message. */
  readonly before: string;
  readonly text: string;
  /** The text and idempotency key of a request already sent, so that a retry of the same text has no second effect. */
  readonly sent?: Unsent;
}

export interface Unsent {
  readonly key: string;
  readonly text: string;
  readonly before?: string;
}

export function loadDraft(sessionId: string): string {
  return sessionStorage.getItem(DRAFT + sessionId) ?? '';
}

export function saveDraft(sessionId: string, text: string): void {
  keep(DRAFT + sessionId, text);
}

export function loadEdit(sessionId: string): Edit | undefined {
  const kept = sessionStorage.getItem(EDIT + sessionId);
  return kept === null ? undefined : (JSON.parse(kept) as Edit);
}

export function saveEdit(sessionId: string, edit: Edit | undefined): void {
  keep(EDIT + sessionId, edit === undefined ? '' : JSON.stringify(edit));
}

export function saveUnsent(sessionId: string, messages: readonly Unsent[]): void {
  keep(UNSENT + sessionId, messages.length === 0 ? '' : JSON.stringify(messages));
}

/** Moves the draft of a session that accepts no messages to the next new session. */
export function moveDraftToNew(sessionId: string): void {
  const texts = [loadDraft('new'), loadDraft(sessionId)].filter((text) => text !== '');
  saveDraft('new', texts.join('\n\n'));
  saveDraft(sessionId, '');
}

/**
 * Moves messages that were sent but not accepted into the composer's draft, before its current text. An edit stays an
 * edit: the last one, unless another edit is open.
 */
export function takeBackUnsent(sessionId: string): void {
  const unsent = sessionStorage.getItem(UNSENT + sessionId);
  if (unsent === null) return;
  // Earlier versions of the page stored only the text.
  const kept = JSON.parse(unsent) as (Unsent | string)[];
  const messages = kept.map((one): Unsent => (typeof one === 'string' ? { key: '', text: one } : one));
  const last =
    loadEdit(sessionId) === undefined ? messages.findLast(({ before }) => before !== undefined) : undefined;
  if (last?.before !== undefined) saveEdit(sessionId, { before: last.before, text: last.text, sent: last });
  const texts = messages.filter((one) => one !== last).map(({ text }) => text);
  saveDraft(sessionId, [...texts, loadDraft(sessionId)].filter((text) => text !== '').join('\n\n'));
  saveUnsent(sessionId, []);
}

function keep(key: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, text);
  } catch {
    // The storage is full; the text is still on the page.
  }
}
