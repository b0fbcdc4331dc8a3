import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HistoryRow } from 'reprise/client';
import type { Conversation } from '../conversation/conversation.ts';
import { startEditing } from '../conversation/editing.ts';
import type { ForkPlace } from '../conversation/transcript-items.ts';
import { type Spoken, whoSaid } from '../conversation/who-said.ts';
import { fullTime, shortTime } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { BranchSwitcher } from './branch-switcher.tsx';
import { messageEntries } from './menu-entries.ts';
import { Pictures } from './pictures.tsx';

export interface MessageProps {
  readonly conversation: Conversation;
  readonly row: HistoryRow;
  readonly fork?: ForkPlace | undefined;
}

const NOBODY: Spoken = { said: '' };

/** A message of the user, a note, or a tool result whose call is not loaded. */
export function Message({ conversation, row, fork }: MessageProps): JSX.Element {
  const isUser = row.role === 'user';
  const isPinned = conversation.pins.value.has(row.id);
  const { author, isAnybody, said } = isUser ? whoSaid(row.text, conversation.history.view.value) : NOBODY;
  return (
    <article class={`message ${isUser ? 'user' : 'other'}${row.compacted === true ? ' compacted' : ''}`}>
      <header>
        <b>{isUser ? (author ?? t(isAnybody === true ? 'user' : 'you')) : row.role}</b>
        <Position row={row} />
        {isPinned && <Pinned />}
        <time dateTime={row.timestamp} title={fullTime(row.timestamp)}>
          {shortTime(row.timestamp)}
        </time>
      </header>
      {isUser ? <Said text={said} /> : <Markdown text={row.text} />}
      {Array.isArray(row.content) && <Pictures conversation={conversation} content={row.content} />}
      <footer class="under">
        <BranchSwitcher conversation={conversation} fork={fork} />
        <span class="actions">
          {isUser && !conversation.isClosed && !conversation.isBusy && (
            <button
              type="button"
              class="quiet small"
              aria-label={t('edit')}
              title={t('edit')}
              onClick={() => startEditing(conversation, row)}
            >
              <Icon name="edit" />
            </button>
          )}
          <Menu label={t('actions')} entries={() => messageEntries(conversation, row)} />
        </span>
      </footer>
    </article>
  );
}

const LONG = 1500;

/** Collapses long text, such as a pasted file. */
function Said({ text }: { readonly text: string }): JSX.Element {
  const isWhole = useSignal(text.length < LONG);
  return (
    <>
      <p class={['said', !isWhole.value && 'cut'].filter(Boolean).join(' ')}>{text}</p>
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

/** The position as used in commands, such as `/pin #3`. */
export function Position({ row }: { readonly row: HistoryRow }): JSX.Element | null {
  if (row.position === undefined) return null;
  return (
    <span class="position" title={t('position')}>
      #{row.position}
    </span>
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
