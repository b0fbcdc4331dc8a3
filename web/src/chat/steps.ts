import type { HistoryRow } from 'reprise/client';
import { attempt } from '../stores/api.ts';
import type { Conversation } from '../stores/conversation.ts';
import { dialog } from '../stores/dialogs.ts';
import { saveDraft } from '../stores/drafts.ts';
import { go } from '../stores/route.ts';
import { putSession } from '../stores/sessions.ts';
import { say } from '../stores/toasts.ts';
import { t } from '../strings.ts';

/** What a person does to a session beside talking, each with its way back. */

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

export async function forkAt(conversation: Conversation, at?: string): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.fork(at === undefined ? {} : { at });
    putSession(session);
    go({ view: 'session', agentId: session.agentId, sessionId: session.id });
    say(t('forked'));
  });
}

/** An earlier message in other words: in a copy that ends before it, with the text ready to be changed. */
export async function editInCopy(conversation: Conversation, row: HistoryRow, before: string): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.fork({ at: before });
    saveDraft(session.id, row.text);
    putSession(session);
    go({ view: 'session', agentId: session.agentId, sessionId: session.id });
    say(t('editingFork'));
  });
}

export async function undoStep(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { undone, sessionId, session } = await conversation.remote.undo();
    if (undone === null) return;
    putSession(session);
    if (sessionId !== undefined && sessionId !== conversation.id)
      go({ view: 'session', agentId: session.agentId, sessionId });
    else await conversation.reload();
  });
}

export async function redoStep(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.redo();
    putSession(session);
    await conversation.reload();
  });
}

export async function undoCompaction(conversation: Conversation): Promise<void> {
  await attempt(async () => {
    await conversation.remote.command('/compact undo');
    await conversation.reload();
    say(t('compactionUndone'), { action: { label: t('redo'), run: () => void redoStep(conversation) } });
  });
}

export async function goToBranch(conversation: Conversation, entryId: string): Promise<void> {
  await attempt(async () => {
    const { session } = await conversation.remote.branch(entryId);
    putSession(session);
    await conversation.reload();
  });
}

export async function togglePin(conversation: Conversation, entryId: string): Promise<void> {
  await attempt(async () => {
    if (conversation.pins.value.has(entryId)) await conversation.remote.unpin(entryId);
    else await conversation.remote.pin(entryId);
    await conversation.refreshFacts();
  });
}

/** The last message again, or in other words; what was there stays as a branch. False: it was refused. */
export async function sayAgain(conversation: Conversation, last: string, edited?: string): Promise<boolean> {
  const command = edited === undefined ? '/retry' : `/edit ${edited}`;
  const answer = await attempt(() => conversation.remote.command(command));
  if (answer === undefined) return false;
  await attempt(() => conversation.history.loadLatest());
  if (answer.inboxId !== undefined) conversation.follow(answer.inboxId, edited ?? last);
  return true;
}

/** A line that begins with a slash, as it was typed. */
export async function runCommand(conversation: Conversation, line: string): Promise<boolean> {
  // With its own way back.
  if (/^\/delete\s*$/i.test(line)) {
    await removeSession(conversation);
    return true;
  }
  const answer = await attempt(() => conversation.remote.command(line, { confirm: true }));
  if (answer === undefined) return false;
  const { text, sessionId, inboxId } = answer;
  if (text.includes('\n')) dialog.value = { kind: 'told', title: line, text };
  else if (text !== '') say(text);
  if (sessionId !== undefined && sessionId !== conversation.id)
    go({ view: 'session', agentId: conversation.agentId, sessionId });
  else await attempt(() => conversation.reload());
  if (inboxId !== undefined) conversation.follow(inboxId, '');
  return true;
}
