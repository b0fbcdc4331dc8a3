import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ChatView } from './chat/chat-view.tsx';
import { Dialogs } from './chat/dialogs.tsx';
import { Sidebar } from './chat/sidebar.tsx';
import { ChatsView } from './chats/chats-view.tsx';
import { listenToKeys } from './keys.ts';
import { isListOpen } from './shell-state.ts';
import { StatsView } from './stats/stats-view.tsx';
import { connection } from './stores/api.ts';
import { conversation } from './stores/open-conversations.ts';
import { route } from './stores/route.ts';
import { t } from './strings.ts';

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
