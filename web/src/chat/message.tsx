import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HistoryRow } from 'reprise/client';
import { fullTime, shortTime } from '../format.ts';
import { Markdown } from '../markdown/markdown.tsx';
import type { Conversation } from '../stores/conversation.ts';
import { formatRoute } from '../stores/route.ts';
import { say } from '../stores/toasts.ts';
import type { ForkPlace } from '../stores/transcript-items.ts';
import { type Spoken, whoSaid } from '../stores/who-said.ts';
import { t } from '../strings.ts';
import { copyText } from '../ui/copy-text.ts';
import { Icon } from '../ui/icon.tsx';
import { Menu, type MenuEntry } from '../ui/menu.tsx';
import { BranchSwitcher } from './branch-switcher.tsx';
import { editingOf } from './editing.ts';
import { Pictures } from './pictures.tsx';
import { withSteps } from './steps-later.ts';

export interface MessageProps {
  readonly conversation: Conversation;
  readonly row: HistoryRow;
  readonly fork?: ForkPlace | undefined;
}

const NOBODY: Spoken = { said: '' };

/** What a person said; also what a tool said whose call is not in sight, and notes. */
export function Message({ conversation, row, fork }: MessageProps): JSX.Element {
  const isUser = row.role === 'user';
  const isPinned = conversation.pins.value.has(row.id);
  const { author = t('you'), said } = isUser ? whoSaid(row.text, conversation.history.view.value) : NOBODY;
  return (
    <article class={`message ${isUser ? 'user' : 'other'}${row.compacted === true ? ' compacted' : ''}`}>
      <header>
        <b>{isUser ? author : row.role}</b>
        {isPinned && <Pinned />}
        <time dateTime={row.timestamp} title={fullTime(row.timestamp)}>
          {shortTime(row.timestamp)}
        </time>
        <BranchSwitcher conversation={conversation} fork={fork} />
        <span class="actions">
          <Menu label={t('actions')} entries={entries(conversation, row)} />
        </span>
      </header>
      {isUser ? <Said text={said} /> : <Markdown text={row.text} />}
      <Pictures conversation={conversation} content={row.content} />
    </article>
  );
}

const LONG = 1500;

/** What was pasted as a whole file is not in the way of what was said about it. */
function Said({ text }: { readonly text: string }): JSX.Element {
  const isWhole = useSignal(text.length < LONG);
  return (
    <>
      <p class={isWhole.value ? 'said' : 'said cut'}>{text}</p>
      {!isWhole.value && (
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {t('showAll')}
        </button>
      )}
    </>
  );
}

export function Pinned(): JSX.Element {
  return (
    <span class="badge">
      <Icon name="pin" />
      {t('pinned')}
    </span>
  );
}

function entries(conversation: Conversation, row: HistoryRow): MenuEntry[] {
  const common = commonEntries(conversation, row);
  const isClosed = conversation.isReadOnly || conversation.history.view.value?.status === 'deleted';
  // While a turn runs it would wait for its end.
  if (row.role !== 'user' || isClosed || conversation.isBusy) return common;
  const edit = (): void => {
    editingOf(conversation).value = row;
  };
  return [{ label: t('edit'), icon: 'edit', run: edit }, ...common];
}

/** What can be done with anything that was said. */
export function commonEntries(conversation: Conversation, row: HistoryRow): MenuEntry[] {
  const { agentId, id: sessionId } = conversation;
  const link = (): string =>
    new URL(formatRoute({ view: 'session', agentId, sessionId, entry: row.id }), location.href).href;
  const told = (): void => say(t('copied'));
  const isDeleted = conversation.history.view.value?.status === 'deleted';
  const copies: MenuEntry[] = [
    { label: t('copy'), icon: 'copy', run: () => void copyText(row.text).then(told) },
    { label: t('copyLink'), icon: 'link', run: () => void copyText(link()).then(told) },
  ];
  if (isDeleted) return copies;
  const isPinned = conversation.pins.value.has(row.id);
  return [
    ...copies,
    {
      label: t(isPinned ? 'unpin' : 'pin'),
      icon: 'pin',
      run: () => void withSteps((steps) => steps.togglePin(conversation, row.id)),
    },
    {
      label: t('fork'),
      icon: 'fork',
      run: () => void withSteps((steps) => steps.forkAt(conversation, row.id)),
    },
  ];
}
