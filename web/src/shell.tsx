import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { ChatView } from './chat/chat-view.tsx';
import { Dialogs } from './chat/dialogs.tsx';
import { Sidebar } from './chat/sidebar.tsx';
import { isListOpen } from './shell-state.ts';
import { attempt, connection } from './stores/api.ts';
import { conversation } from './stores/open-conversations.ts';
import { route } from './stores/route.ts';
import { t } from './strings.ts';
import { Later } from './ui/later.tsx';

const loadChats = (): Promise<() => JSX.Element> =>
  import('./chats/chats-view.tsx').then(({ ChatsView }) => ChatsView);
const loadStats = (): Promise<() => JSX.Element> =>
  import('./stats/stats-view.tsx').then(({ StatsView }) => StatsView);

export function Shell(): JSX.Element {
  useEffect(() => {
    // What the keys open comes as late as they do.
    const listening = attempt(() => import('./keys.ts')).then((keys) => keys?.listenToKeys());
    return () => void listening.then((stop) => stop?.());
  }, []);
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
        {at.view === 'chats' && <Later load={loadChats} />}
        {at.view === 'stats' && <Later load={loadStats} />}
        {(at.view === 'new' || at.view === 'session') && current !== undefined && (
          <ChatView key={current.id} conversation={current} />
        )}
      </main>
      <Dialogs />
    </div>
  );
}
