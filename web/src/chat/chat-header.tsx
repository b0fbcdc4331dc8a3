import type { JSX } from 'preact';
import type { Conversation } from '../stores/conversation.ts';
import { channelOf, nameOf } from '../stores/session-keys.ts';
import { t } from '../strings.ts';
import { Later } from '../ui/later.tsx';
import { ListButton } from '../ui/list-button.tsx';
import { Menu } from '../ui/menu.tsx';
import { ContextBar } from './context-bar.tsx';
import { menuOf } from './steps-later.ts';

const loadBanners = (): Promise<() => JSX.Element | null> =>
  import('./banners.tsx').then(({ Banners }) => Banners);

export function ChatHeader({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const view = conversation.history.view.value;
  const where = view === undefined ? undefined : channelOf(view);
  const isNotable =
    view !== undefined &&
    (view.status === 'deleted' || view.corruptAt !== undefined || view.parentId !== undefined);
  const notes = [conversation.agentId, where ?? ''].filter((note) => note !== '' && note !== 'main');
  return (
    <header class="chat-head">
      <ListButton />
      <div class="title">
        <h1>
          {view === undefined ? t(conversation.state.value === 'new' ? 'newChat' : 'chat') : nameOf(view)}
        </h1>
        {notes.length > 0 && <span class="notes">{notes.join(' · ')}</span>}
      </div>
      <ContextBar conversation={conversation} />
      {view !== undefined && (
        <Menu label={t('sessionActions')} entries={menuOf((menus) => menus.sessionEntries(conversation))} />
      )}
      {isNotable && <Later load={loadBanners} />}
    </header>
  );
}
