import { RepriseError } from 'reprise/client';
import { attempt } from '../api/api.ts';
import { answerText, t } from '../i18n/strings.ts';
import { type DialogState, dialog } from '../shell/dialogs.ts';
import { go } from '../shell/route.ts';
import { dismiss, say, type Toast } from '../shell/toasts.ts';
import { putSession } from '../sidebar/sessions.ts';
import type { Conversation } from './conversation.ts';
import { wantedEntry } from './open-conversations.ts';
import { nameOf } from './session-keys.ts';
import { fileName, saveFile } from './share.tsx';
import type { ForkPlace } from './transcript-items.ts';
import { whoSaid } from './who-said.ts';

/** Actions of the user on a session other than sending messages; each can be undone. */

export async function removeSession(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.delete();
    conversation.history.setView(session);
    putSession(session);
    say(t('removed'), { action: { label: t('undo'), run: () => void restoreSession(conversation) } });
  });
}

export async function restoreSession(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.restore();
    conversation.history.setView(session);
    putSession(session);
    await conversation.refreshFacts();
  });
}

export async function renameSession(conversation: Conversation, title: string): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.patch({ label: title });
    conversation.history.setView(session);
    putSession(session);
  });
}

/** Keeps a session at the top of the list, in every browser. */
export async function pinSession(conversation: Conversation, isTop: boolean): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.patch({ 'x-pinned': isTop ? true : null });
    conversation.history.setView(session);
    putSession(session);
  });
}

/** Downloads the whole session as one file. If images are missing, it asks whether to export without them. */
export async function exportSession(conversation: Conversation, lost?: 'preview'): Promise<void> {
  await attempt(async () => {
    const bytes = await conversation.remote.export({ ...(lost && { lost }) }).catch((error: unknown) => {
      const count = error instanceof RepriseError && error.details['lost'];
      if (typeof count !== 'number') throw error;
      const run = (): void => void exportSession(conversation, 'preview');
      say(t('partsLost', count), { kind: 'error', action: { label: t('exportRest'), run } });
    });
    if (bytes === undefined) return;
    const view = conversation.history.view.value;
    const name = fileName(view === undefined ? '' : nameOf(view), 'jsonl');
    saveFile(name, [bytes], 'application/x-ndjson');
    say(t('exported', name));
  });
}

export async function forkAt(conversation: Conversation, at?: string): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.fork(at === undefined ? {} : { at });
    putSession(session);
    go({ view: 'session', agentId: session.agentId, sessionId: session.id });
    say(t('forked'));
  });
}

export async function undoStep(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { undone, sessionId, session } = await conversation.remote.undo();
    if (undone === null) return;
    putSession(session);
    if (sessionId !== undefined && sessionId !== conversation.id)
      go({ view: 'session', agentId: session.agentId, sessionId });
    else await reload(conversation);
  });
}

export async function redoStep(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.redo();
    putSession(session);
    await reload(conversation);
  });
}

export async function undoCompaction(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    await conversation.remote.command('/compact undo');
    await reload(conversation);
    say(t('compactionUndone'), { action: { label: t('redo'), run: () => void redoStep(conversation) } });
  });
}

export async function goToBranch(conversation: Conversation, entryId: string): Promise<void> {
  const left = conversation.history.view.value?.leaf ?? undefined;
  await attempt(async () => {
    const { session } = await conversation.remote.branch(entryId);
    putSession(session);
    await conversation.reload();
    // Returns to the previous leaf, whatever happened since: undo would reverse the last step, which may be another
    // one.
    const undo =
      left === undefined ? undefined : { label: t('undo'), run: () => void goToBranch(conversation, left) };
    sayInstead(t('wentTo'), undo);
  });
}

let lastTold = 0;

/** Replaces the toast of the previous such action, because its undo button would return to an outdated state. */
function sayInstead(text: string, action: Toast['action']): void {
  dismiss(lastTold);
  lastTold = say(text, { action });
}

export async function togglePin(conversation: Conversation, entryId: string): Promise<void> {
  await attempt(async () => {
    if (conversation.pins.value.has(entryId)) await conversation.remote.unpin(entryId);
    else await conversation.remote.pin(entryId);
    await conversation.refreshFacts();
  });
}

/** Loads everything again, and restores the keyboard focus if the focused button has disappeared. */
async function reload(conversation: Conversation): Promise<void> {
  await conversation.reload();
  focusLost('.messages');
}

/** Focuses the element if nothing has the focus, as soon as it is rendered. */
function focusLost(place: string, frames = 10): void {
  requestAnimationFrame(() => {
    const element = document.querySelector<HTMLElement>(place);
    if (document.activeElement !== document.body || (element === null && frames === 0)) return;
    if (element === null) focusLost(place, frames - 1);
    else element.focus({ preventScroll: true });
  });
}

/** Scrolls to the summary, loading older pages if needed. */
export async function showSummary({ history }: Conversation): Promise<void> {
  const isThere = (): boolean => history.rows.value.some(({ compacted }) => compacted === true);
  await attempt(async () => {
    if (history.hasNewer.value) await history.loadLatest();
    for (let before = -1; !isThere() && history.rows.value.length > before; ) {
      before = history.rows.value.length;
      await history.loadOlder();
    }
  });
  wantedEntry.value = history.rows.value.findLast(({ role }) => role === 'compaction')?.id;
  focusLost('.fold button');
}

let isSwitching = false;

/** Switches to the neighboring branch at a fork, at its last leaf. */
export async function switchBranch(conversation: Conversation, fork: ForkPlace, step: number): Promise<void> {
  const { ids } = fork;
  const at = fork.at + step;
  const id = ids[at];
  // Ignore a second click until the first is done, because it would start from another branch.
  if (id === undefined || isSwitching) return;
  isSwitching = true;
  await attempt(async () => {
    const { session } = await conversation.remote.branch(id, { place: 'end' });
    await showAround(conversation, id);
    putSession(session);
    focusSwitcher(id, step);
    const back = (): void => void switchBranch(conversation, { ids, at }, -step);
    sayInstead(t('branchOf', at + 1, ids.length), { label: t('undo'), run: back });
  });
  isSwitching = false;
}

async function showAround(conversation: Conversation, id: string): Promise<void> {
  // Set before the other data is loaded, because the user may navigate meanwhile.
  if (await conversation.history.loadAround(id)) wantedEntry.value = id;
  await conversation.refreshFacts();
}

/** Keeps the keyboard focus on the branch switcher's button, or on the opposite one at the last branch. */
function focusSwitcher(id: string, step: number, frames = 10): void {
  requestAnimationFrame(() => {
    const all = [
      ...document.querySelectorAll<HTMLButtonElement>(`[data-key="${CSS.escape(id)}"] .switcher button`),
    ];
    // The switcher is rendered after scrolling to it.
    if (all.length === 0 && frames > 0) return focusSwitcher(id, step, frames - 1);
    if (step < 0) all.reverse();
    all.findLast(({ disabled }) => !disabled)?.focus();
  });
}

/** Sends the last message again; the previous answer remains as a branch. */
export async function sayLastAgain(conversation: Conversation): Promise<void> {
  const said = lastSaid(conversation);
  const answer = await attempt(() => conversation.remote.command('/retry'));
  if (answer === undefined) return;
  await attempt(() => conversation.history.loadLatest());
  if (answer.inboxId !== undefined) conversation.follow(answer.inboxId, said);
}

/** @returns an empty string if the session has changed since the button was shown. */
function lastSaid({ history, canSayAgain }: Conversation): string {
  const last = canSayAgain ? history.rows.value.findLast(({ role }) => role === 'user')?.text : undefined;
  return whoSaid(last ?? '', history.view.value).said;
}

/** Commands that the page answers with a view of its own. @returns false if the server must run it. */
function openPanel(conversation: Conversation, line: string): boolean {
  const [, name = '', args = ''] = /^\/(\S+)\s*([\s\S]*?)\s*$/.exec(line.toLowerCase()) ?? [];
  const show = (state: DialogState): true => {
    dialog.value = state;
    return true;
  };
  const turnId = conversation.history.lastTurn?.turnId;
  switch (name) {
    case 'search':
      return show({ kind: 'search', text: args });
    case 'sessions':
    case 'list':
    case 'ls':
      return show({ kind: 'search', text: args });
    case 'help':
      return args === '' && show({ kind: 'help' });
    case 'tree':
      return show({ kind: 'tree', conversation });
    case 'compact':
      return args === '' && show({ kind: 'compact', conversation });
    case 'rename':
      return args === '' && show({ kind: 'rename', conversation });
    case 'explain':
      return args === '' && turnId !== undefined && show({ kind: 'explain', conversation, turnId });
    case 'context':
    case 'tokens':
    case 'cost':
    case 'status':
      return openContext();
    case 'model':
      return args === '' && openModels();
    case 'history':
      if (args !== '') return false;
      document.querySelector<HTMLElement>('.messages')?.focus();
      return true;
    default:
      return false;
  }
}

function openContext(): boolean {
  const panel = document.querySelector<HTMLDetailsElement>('details.context');
  if (panel === null) return false;
  panel.open = true;
  panel.querySelector('summary')?.focus();
  return true;
}

/** The list opens by its button, which also places it. */
function openModels(): boolean {
  const buttons = document.querySelectorAll<HTMLButtonElement>('.pickers button[popovertarget]');
  const button = buttons[buttons.length - 1];
  button?.click();
  return button !== undefined;
}

/** Runs a slash command as typed. */
export async function runCommand(conversation: Conversation, line: string): Promise<boolean> {
  // Handled here to offer an undo button.
  if (/^\/delete\s*$/i.test(line)) {
    await removeSession(conversation);
    return true;
  }
  if (openPanel(conversation, line)) return true;
  // The text to show while the command waits or runs: that of /edit, or the last message.
  const said = /^\/edit\s+(.*)/is.exec(line)?.[1] ?? lastSaid(conversation);
  const answer = await attempt(() => conversation.remote.command(line, { confirm: true }));
  if (answer === undefined) return false;
  const { sessionId, inboxId } = answer;
  const text = answerText(answer);
  if (text.includes('\n')) dialog.value = { kind: 'answer', title: line, answer };
  else if (text !== '') say(text);
  if (sessionId !== undefined && sessionId !== conversation.id)
    go({ view: 'session', agentId: conversation.agentId, sessionId });
  else await attempt(() => conversation.reload());
  if (inboxId !== undefined) conversation.follow(inboxId, said);
  return true;
}
