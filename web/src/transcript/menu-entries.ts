import type { HistoryRow } from 'reprise/client';
import { dropCookie } from '../api/api.ts';
import { signOut } from '../api/auth.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { startEditing } from '../conversation/editing.ts';
import { shareSession } from '../conversation/share.tsx';
import {
  exportSession,
  forkAt,
  pinSession,
  redoStep,
  removeSession,
  restoreSession,
  sayLastAgain,
  togglePin,
  undoStep,
} from '../conversation/steps.ts';
import type { AnswerItem } from '../conversation/transcript-items.ts';
import { t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { formatRoute } from '../shell/route.ts';
import { say } from '../shell/toasts.ts';
import { isPinned } from '../sidebar/session-groups.ts';
import { copyText } from '../ui/copy-text.ts';
import type { MenuEntry } from '../ui/menu.tsx';

export function pageEntries(): MenuEntry[] {
  const open =
    (kind: 'settings' | 'keys'): (() => void) =>
    () => {
      dialog.value = { kind };
    };
  return [
    { label: t('settings'), icon: 'eye', run: open('settings') },
    { label: t('keys'), icon: 'keys', run: open('keys') },
    { label: t('signOut'), icon: 'out', run: leave },
  ];
}

function leave(): void {
  dropCookie();
  signOut();
}

export function sessionEntries(conversation: Conversation): MenuEntry[] {
  if (isDeleted(conversation))
    return [{ label: t('restore'), icon: 'undo', run: () => void restoreSession(conversation) }];
  const view = conversation.history.view.value;
  const isTop = view !== undefined && isPinned(view);
  const open =
    (kind: 'rename' | 'tree' | 'compact'): (() => void) =>
    () => {
      dialog.value = { kind, conversation };
    };
  return [
    { label: t('rename'), icon: 'edit', run: open('rename') },
    { label: t('tree'), icon: 'tree', run: open('tree') },
    { label: t('compact'), icon: 'fold', run: open('compact') },
    { label: t('exportMarkdown'), icon: 'down', run: () => void shareSession(conversation, 'md') },
    { label: t('exportHtml'), icon: 'link', run: () => void shareSession(conversation, 'html') },
    { label: t('exportJson'), icon: 'down', run: () => void exportSession(conversation) },
    {
      label: t(isTop ? 'unpinSession' : 'pinSession'),
      icon: 'pin',
      run: () => void pinSession(conversation, !isTop),
    },
    { label: t('forkAll'), icon: 'fork', run: () => void forkAt(conversation) },
    { label: t('undoTurn'), icon: 'undo', run: () => void undoStep(conversation) },
    { label: t('redo'), icon: 'retry', run: () => void redoStep(conversation) },
    { label: t('remove'), icon: 'trash', run: () => void removeSession(conversation), danger: true },
  ];
}

export function messageEntries(conversation: Conversation, row: HistoryRow): MenuEntry[] {
  const common = commonEntries(conversation, row);
  // During a turn the edit would have to wait for its end.
  if (row.role !== 'user' || conversation.isClosed || conversation.isBusy) return common;
  const edit = (): void => {
    startEditing(conversation, row);
  };
  return [{ label: t('edit'), icon: 'edit', run: edit }, ...common];
}

export function answerEntries(conversation: Conversation, { row, turn }: AnswerItem): MenuEntry[] {
  const common = commonEntries(conversation, row);
  if (turn === undefined || isDeleted(conversation)) return common;
  const rows = conversation.history.rows.value;
  const lastAnswer = rows.findLast(({ role }) => role === 'assistant');
  const again: MenuEntry[] =
    lastAnswer?.id === row.id && conversation.canSayAgain
      ? [{ label: t('retry'), icon: 'retry', run: () => void sayLastAgain(conversation) }]
      : [];
  const explain = (): void => {
    dialog.value = { kind: 'explain', conversation, turnId: turn.turnId };
  };
  return [
    ...again,
    ...(turn.turnId === '' ? [] : [{ label: t('explain'), icon: 'eye', run: explain } as const]),
    ...common,
  ];
}

/** Menu entries for every message. */
function commonEntries(conversation: Conversation, row: HistoryRow): MenuEntry[] {
  const { agentId, id: sessionId } = conversation;
  const link = (): string =>
    new URL(formatRoute({ view: 'session', agentId, sessionId, entry: row.id }), location.href).href;
  const told = (): void => void say(t('copied'));
  const copies: MenuEntry[] = [
    { label: t('copy'), icon: 'copy', run: () => void copyText(row.text).then(told) },
    { label: t('copyLink'), icon: 'link', run: () => void copyText(link()).then(told) },
  ];
  if (isDeleted(conversation)) return copies;
  const isPinned = conversation.pins.value.has(row.id);
  return [
    ...copies,
    { label: t(isPinned ? 'unpin' : 'pin'), icon: 'pin', run: () => void togglePin(conversation, row.id) },
    { label: t('fork'), icon: 'fork', run: () => void forkAt(conversation, row.id) },
  ];
}

function isDeleted(conversation: Conversation): boolean {
  return conversation.history.view.value?.status === 'deleted';
}
