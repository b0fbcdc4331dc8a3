import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Conversation as Channel, ConversationLine } from 'reprise/client';
import { attempt, client } from '../../api/api.ts';
import { saveFile } from '../../conversation/share.tsx';
import { fullTime, shortTime } from '../../i18n/format.ts';
import { t } from '../../i18n/strings.ts';
import { Markdown } from '../../markdown/markdown.tsx';
import { formatRoute } from '../../shell/route.ts';
import { Icon } from '../../ui/icon.tsx';
import { channelLines } from './channel-lines.ts';
import { ChannelWindow, type ChannelWish } from './channel-window.ts';
import { Drawer } from './drawer.tsx';
import { markWords } from './mark-words.ts';

export interface ChannelDrawerProps {
  readonly channel: Channel;
  /** The search text and member by which the channel was found. */
  readonly wish: ChannelWish;
  readonly onClose: () => void;
}

/** The messages of a channel: the newest, or those around a search match. */
export function ChannelDrawer({ channel, wish, onClose }: ChannelDrawerProps): JSX.Element {
  const { agentId, channelType, channelId } = channel;
  const [view] = useState(() => new ChannelWindow(channel));
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void attempt(() => view.open(wish));
  }, [view]);
  const save = async (): Promise<void> =>
    saveFile(
      `${channelType}-${channelId}.jsonl`,
      await channelLines(client.value, channel),
      'application/x-ndjson',
    );
  const lines = view.lines.value;
  const matches = view.matches.value;
  const wanted = matches?.numbers[matches.at];
  useLayoutEffect(() => {
    if (list.current !== null) markWords(list.current, wish.q);
  }, [lines]);
  return (
    <Drawer
      title={`${channelType} ${channelId}`}
      onClose={onClose}
      first={lines[0]?.id}
      wanted={wanted === undefined ? undefined : String(wanted)}
      actions={
        <>
          {matches !== undefined && <MatchSteps view={view} />}
          <button type="button" onClick={() => void attempt(save)}>
            {t('export')}
          </button>
        </>
      }
    >
      {view.hasOlder.value && (
        <button type="button" class="more" onClick={() => void attempt(() => view.loadOlder())}>
          {t('olderHits')}
        </button>
      )}
      <div ref={list}>
        {lines.map((line) => (
          <Line key={line.id} line={line} agentId={agentId} isFound={line.number === wanted} />
        ))}
      </div>
      {view.hasNewer.value && (
        <button type="button" class="more" onClick={() => void attempt(() => view.loadNewer())}>
          {t('newerLines')}
        </button>
      )}
    </Drawer>
  );
}

/** Buttons to the previous and next match; the server lists the newest match first. */
function MatchSteps({ view }: { readonly view: ChannelWindow }): JSX.Element | null {
  const matches = view.matches.value;
  if (matches === undefined) return null;
  const { numbers, at, hasMore } = matches;
  const step = (by: -1 | 1, label: string, isEnd: boolean): JSX.Element => (
    <button
      type="button"
      class={by < 0 ? 'quiet up' : 'quiet'}
      aria-label={label}
      title={label}
      aria-disabled={isEnd}
      onClick={() => void attempt(() => view.step(by))}
    >
      <Icon name="down" />
    </button>
  );
  return (
    <>
      <span class="notes" role="status">
        {t('matchOf', numbers.length - at, `${numbers.length}${hasMore ? '+' : ''}`)}
      </span>
      {step(-1, t('olderMatch'), at === 0)}
      {step(1, t('newerMatch'), at === numbers.length - 1)}
    </>
  );
}

interface LineProps {
  readonly line: ConversationLine;
  readonly agentId: string;
  readonly isFound: boolean;
}

function Line({ line, agentId, isFound }: LineProps): JSX.Element {
  const { id, role, content, sender, ts, sessionId } = line;
  const kind = role === 'user' ? 'user' : 'answer';
  return (
    <article
      data-line={id}
      class={isFound ? `message ${kind} found` : `message ${kind}`}
      aria-current={isFound || undefined}
    >
      <header>
        <b>{sender?.name ?? sender?.id ?? t(kind)}</b>
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
  );
}
