/** What was typed and not sent, by session; it outlives a reload and a new sign-in, and stays in this tab. */
const PREFIX = 'reprise.draft.';

export function loadDraft(sessionId: string): string {
  return sessionStorage.getItem(PREFIX + sessionId) ?? '';
}

export function saveDraft(sessionId: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(PREFIX + sessionId);
    else sessionStorage.setItem(PREFIX + sessionId, text);
  } catch {
    // Full: the draft is still in the field.
  }
}
