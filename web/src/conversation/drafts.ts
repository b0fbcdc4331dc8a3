/** What was typed and not sent, by session; it outlives a reload and a new sign-in, and stays in this tab. */
const DRAFT = 'reprise.draft.';
/** What was sent and not accepted yet, each by itself. */
const UNSENT = 'reprise.unsent.';
/** What is being said in place of another message. */
const EDIT = 'reprise.edit.';

/** Words for the place of another message. */
export interface Edit {
  /** That message. */
  readonly before: string;
  readonly text: string;
  /** Which words were sent already, under which key: these very ones, sent again, are said once. */
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

/** Its session is no place to write in any more: the next new one is. */
export function moveDraftToNew(sessionId: string): void {
  const texts = [loadDraft('new'), loadDraft(sessionId)].filter((text) => text !== '');
  saveDraft('new', texts.join('\n\n'));
  saveDraft(sessionId, '');
}

/**
 * Nobody sends it any more: it is in the field for whoever opens the session next, before what was written since. What
 * was to stand in the place of another message still is; of several the last, as long as no other is being written.
 */
export function takeBackUnsent(sessionId: string): void {
  const unsent = sessionStorage.getItem(UNSENT + sessionId);
  if (unsent === null) return;
  // A page of before kept the words alone.
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
    // Full: it is still on the page.
  }
}
