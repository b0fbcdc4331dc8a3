import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Conversation as Channel, SessionView } from 'reprise/client';
import { t } from '../../i18n/strings.ts';
import { ListButton } from '../../ui/list-button.tsx';
import { ChannelDrawer } from './channel-drawer.tsx';
import { ChannelTable } from './channel-table.tsx';
import type { ChannelWish } from './channel-window.ts';
import { channelFilter, keepChannels } from './channels.ts';
import { SessionDrawer } from './session-drawer.tsx';
import { SessionTable } from './session-table.tsx';

export type Shown =
  | { readonly kind: 'channel'; readonly channel: Channel; readonly wish: ChannelWish }
  | { readonly kind: 'session'; readonly session: SessionView };

/** The admin view: all channels and all sessions, to read and manage. */
export function ChatsView(): JSX.Element {
  const tab = useSignal<'channels' | 'sessions'>('channels');
  const shown = useSignal<Shown | undefined>(undefined);
  useEffect(() => keepChannels(), []);
  const open = (what: Shown): void => {
    shown.value = what;
  };
  const close = (): void => {
    shown.value = undefined;
  };
  const what = shown.value;
  return (
    <section class="admin">
      <header class="chat-head">
        <ListButton />
        <h1>{t('chats')}</h1>
        <div class="tabs" role="tablist">
          {(['channels', 'sessions'] as const).map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={tab.value === name}
              onClick={() => {
                tab.value = name;
              }}
            >
              {t(name)}
            </button>
          ))}
        </div>
      </header>
      {tab.value === 'channels' ? (
        <ChannelTable onOpen={(channel) => open({ kind: 'channel', channel, wish: channelFilter.value })} />
      ) : (
        <SessionTable onOpen={(session) => open({ kind: 'session', session })} />
      )}
      {what?.kind === 'channel' && (
        <ChannelDrawer key={what} channel={what.channel} wish={what.wish} onClose={close} />
      )}
      {what?.kind === 'session' && (
        <SessionDrawer key={what.session.id} session={what.session} onClose={close} />
      )}
    </section>
  );
}
