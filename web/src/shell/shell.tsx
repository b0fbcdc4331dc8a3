import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ChatsView } from '../admin/channels/chats-view.tsx';
import { StatsView } from '../admin/stats/stats-view.tsx';
import { connection } from '../api/api.ts';
import { ChatView } from '../conversation/chat-view.tsx';
import { conversation } from '../conversation/open-conversations.ts';
import { Dialogs } from '../dialogs/dialogs.tsx';
import { t } from '../i18n/strings.ts';
import { Sidebar } from '../sidebar/sidebar.tsx';
import { listenToKeys } from './keys.ts';
import { route } from './route.ts';
import { isListOpen } from './shell-state.ts';

export function Shell(): JSX.Element {
  useEffect(() => listenToKeys(), []);
  const at = route.value;
  useEffect(() => {
    isListOpen.value = false;
  }, [at]);
  const current = conversation.value;
  return (
    <div class={isListOpen.value ? 'shell list-open' : 'shell'}>
      <Sidebar />
      <div
        class="veil"
        onClick={() => {
          isListOpen.value = false;
        }}
      />
      <main>
        {connection.value === 'reconnecting' && (
          <p class="banner" role="status">
            {t('notAnswering')}
          </p>
        )}
        {at.view === 'chats' && <ChatsView />}
        {at.view === 'stats' && <StatsView />}
        {(at.view === 'new' || at.view === 'session') && current !== undefined && (
          <ChatView key={current.id} conversation={current} />
        )}
      </main>
      <Dialogs />
    </div>
  );
}
