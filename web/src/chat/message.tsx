import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { HistoryRow } from 'reprise/client';
import { fullTime, shortTime } from '../format.ts';
import { Markdown } from '../markdown/markdown.tsx';
import type { Conversation } from '../stores/conversation.ts';
import type { ForkPlace } from '../stores/transcript-items.ts';
import { type Spoken, whoSaid } from '../stores/who-said.ts';
import { t } from '../strings.ts';
import { Icon } from '../ui/icon.tsx';
import { Later } from '../ui/later.tsx';
import { Menu } from '../ui/menu.tsx';
import { BranchSwitcher } from './branch-switcher.tsx';
import type { PicturesProps } from './pictures.tsx';
import { menuOf } from './steps-later.ts';

export interface MessageProps {
  readonly conversation: Conversation;
  readonly row: HistoryRow;
  readonly fork?: ForkPlace | undefined;
}

const loadPictures = (): Promise<(props: PicturesProps) => JSX.Element | null> =>
  import('./pictures.tsx').then(({ Pictures }) => Pictures);

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
        {isPinned && <Pinned />}
        <time dateTime={row.timestamp} title={fullTime(row.timestamp)}>
          {shortTime(row.timestamp)}
        </time>
        <BranchSwitcher conversation={conversation} fork={fork} />
        <span class="actions">
          <Menu label={t('actions')} entries={menuOf((menus) => menus.messageEntries(conversation, row))} />
        </span>
      </header>
      {isUser ? <Said text={said} /> : <Markdown text={row.text} />}
      {Array.isArray(row.content) && (
        <Later load={loadPictures} conversation={conversation} content={row.content} />
      )}
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
