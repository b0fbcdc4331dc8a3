import type { JSX } from 'preact';
import type { SessionView } from 'reprise/client';
import { isAnswering } from '../conversation/open-conversations.ts';
import { channelOf, isJob, nameOf } from '../conversation/session-keys.ts';
import { fullTime, shortCount, shortTime } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { formatRoute, route } from '../shell/route.ts';
import { isUnread } from './unread.ts';

export function SessionRow({ session }: { readonly session: SessionView }): JSX.Element {
  const { id, agentId, lastAt, messageCount, tokenEstimate, status, parentId, corruptAt } = session;
  const at = route.value;
  const isHere = at.view === 'session' && at.sessionId === id;
  const channel = channelOf(session);
  const isRunning = isAnswering(id);
  const isNew = !isHere && !isRunning && isUnread(session);
  const notes = [
    agentId === 'main' ? '' : agentId,
    channel ?? '',
    isJob(session) || parentId !== undefined ? '↳' : '',
    status === 'deleted' ? t('trash') : '',
    corruptAt === undefined ? '' : t('damagedMark'),
    messageCount === 1 ? t('oneMessage') : t('messages', messageCount),
    `${shortCount(tokenEstimate)} ${t('tokens')}`,
  ].filter((note) => note !== '');
  return (
    <div role="listitem">
      <a
        class={isHere ? 'session here' : 'session'}
        href={formatRoute({ view: 'session', agentId, sessionId: id })}
        aria-current={isHere ? 'page' : undefined}
      >
        <span class="name">
          {isRunning && <i class="busy" role="img" aria-label={t('running')} title={t('running')} />}
          {isNew && <i class="unread" role="img" aria-label={t('unread')} title={t('unread')} />}
          {nameOf(session)}
        </span>
        <time dateTime={lastAt} title={fullTime(lastAt)}>
          {shortTime(lastAt)}
        </time>
        <span class="notes">{notes.join(' · ')}</span>
      </a>
    </div>
  );
}
