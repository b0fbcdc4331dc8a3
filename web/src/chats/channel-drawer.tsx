import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Conversation as Channel } from 'reprise/client';
import { fullTime, shortTime } from '../format.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { attempt } from '../stores/api.ts';
import { formatRoute } from '../stores/route.ts';
import { t } from '../strings.ts';
import { type ChannelLines, readChannel } from './channels.ts';
import { Drawer } from './drawer.tsx';

export interface ChannelDrawerProps {
  readonly channel: Channel;
  readonly onClose: () => void;
}

export function ChannelDrawer({ channel, onClose }: ChannelDrawerProps): JSX.Element {
  const told = useSignal<ChannelLines>({ lines: [], hasMore: false });
  const { agentId, channelType, channelId } = channel;
  useEffect(() => {
    void attempt(async () => {
      told.value = await readChannel(channel);
    });
  }, [agentId, channelType, channelId]);
  const older = (): Promise<unknown> =>
    attempt(async () => {
      const { lines, hasMore } = await readChannel(channel, told.value.lines[0]?.number);
      told.value = { lines: [...lines, ...told.value.lines], hasMore };
    });
  return (
    <Drawer title={`${channelType} ${channelId}`} onClose={onClose}>
      {told.value.hasMore && (
        <button type="button" class="more" onClick={() => void older()}>
          {t('loadMore')}
        </button>
      )}
      {told.value.lines.map(({ id, role, content, sender, ts, sessionId }) => (
        <article key={id} class={`message ${role === 'user' ? 'user' : 'answer'}`}>
          <header>
            <b>{sender?.name ?? sender?.id ?? t(role === 'user' ? 'user' : 'answer')}</b>
            <time dateTime={ts} title={fullTime(ts)}>
              {shortTime(ts)}
            </time>
            {sessionId !== undefined && (
              <a class="notes" href={formatRoute({ view: 'session', agentId, sessionId })}>
                {t('openChat')}
              </a>
            )}
          </header>
          {role === 'user' ? <p class="said">{content}</p> : <Markdown text={content} />}
        </article>
      ))}
    </Drawer>
  );
}
