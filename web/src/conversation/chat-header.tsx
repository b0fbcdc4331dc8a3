import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { sessionEntries } from '../transcript/menu-entries.ts';
import { ListButton } from '../ui/list-button.tsx';
import { Menu } from '../ui/menu.tsx';
import { Banners } from './banners.tsx';
import { ContextBar } from './context-bar.tsx';
import type { Conversation } from './conversation.ts';
import { channelOf, nameOf } from './session-keys.ts';

export function ChatHeader({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const view = conversation.history.view.value;
  const where = view === undefined ? undefined : channelOf(view);
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
        <Menu label={t('sessionActions')} entries={() => sessionEntries(conversation)} />
      )}
      <Banners />
    </header>
  );
}
