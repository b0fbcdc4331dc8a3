/** What was typed and not sent, by session; it outlives a reload and a new sign-in, and stays in this tab. */
const DRAFT = 'reprise.draft.';
/** What was sent and not accepted yet, each by itself. */
const UNSENT = 'reprise.unsent.';

export function loadDraft(sessionId: string): string {
  return sessionStorage.getItem(DRAFT + sessionId) ?? '';
}

export function saveDraft(sessionId: string, text: string): void {
  keep(DRAFT + sessionId, text);
}

export function saveUnsent(sessionId: string, texts: readonly string[]): void {
  keep(UNSENT + sessionId, texts.length === 0 ? '' : JSON.stringify(texts));
}

/** Its session is no place to write in any more: the next new one is. */
export function moveDraftToNew(sessionId: string): void {
  const texts = [loadDraft('new'), loadDraft(sessionId)].filter((text) => text !== '');
  saveDraft('new', texts.join('\n\n'));
  saveDraft(sessionId, '');
}

/** Nobody sends it any more: it is in the field for whoever opens the session next, before what was written since. */
export function takeBackUnsent(sessionId: string): void {
  const unsent = sessionStorage.getItem(UNSENT + sessionId);
  if (unsent === null) return;
  const texts = [...(JSON.parse(unsent) as string[]), loadDraft(sessionId)];
  saveDraft(sessionId, texts.filter((text) => text !== '').join('\n\n'));
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
