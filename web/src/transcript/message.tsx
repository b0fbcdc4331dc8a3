import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HistoryRow } from 'reprise/client';
import type { Conversation } from '../conversation/conversation.ts';
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

/** What a person said; also what a tool said whose call is not in sight, and notes. */
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
        <BranchSwitcher conversation={conversation} fork={fork} />
        <span class="actions">
          <Menu label={t('actions')} entries={() => messageEntries(conversation, row)} />
        </span>
      </header>
      {isUser ? <Said text={said} /> : <Markdown text={row.text} />}
      {Array.isArray(row.content) && <Pictures conversation={conversation} content={row.content} />}
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

/** How commands and the command line name it: `/pin #3`. */
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
