import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { SessionView } from 'reprise/client';
import { NoSessions } from '../../conversation/nothing-here.tsx';
import { channelOf, nameOf } from '../../conversation/session-keys.ts';
import { shortCount } from '../../i18n/format.ts';
import { t } from '../../i18n/strings.ts';
import { ChannelChoice, MemberField } from '../../sidebar/facet-fields.tsx';
import { filterText, isListed, isPartOfMember } from '../../sidebar/sessions.ts';
import { Field } from './field.tsx';
import { SortHead } from './sort-head.tsx';
import {
  hasMoreSorted,
  keepSorted,
  moreSorted,
  type SessionSort,
  sessionSort,
  sortedSessions,
} from './sorted-sessions.ts';
import { When } from './when.tsx';

/** The sessions of the list at the left, with its filters, in an order of one's own. */
export function SessionTable({ onOpen }: { readonly onOpen: (session: SessionView) => void }): JSX.Element {
  useEffect(() => keepSorted(), []);
  const rows = sortedSessions.value;
  const head = {
    sort: sessionSort.value,
    onSort: (name: string) => {
      sessionSort.value = name as SessionSort;
    },
  };
  return (
    <>
      <div class="admin-filters">
        <Field
          label={t('filter')}
          value={filterText.value}
          onChange={(text) => {
            filterText.value = text;
          }}
        />
        <ChannelChoice />
        <MemberField />
      </div>
      {isPartOfMember.value && <p class="hint">{t('memberPart')}</p>}
      <div class="scroll admin-table" tabIndex={0} role="region" aria-label={t('sessions')}>
        <table>
          <thead>
            <tr>
              <th>{t('title')}</th>
              <th class="wide-only">{t('agent')}</th>
              <th class="wide-only">{t('channel')}</th>
              <SortHead {...head} name="messages" label={t('messagesHead')} />
              <SortHead {...head} name="tokens" label={t('tokensHead')} />
              <SortHead {...head} name="time" label={t('lastHead')} />
            </tr>
          </thead>
          <tbody>
            {rows.map((session) => (
              <tr key={session.id}>
                <td class="clip">
                  <button type="button" class="link" onClick={() => onOpen(session)}>
                    {nameOf(session)}
                  </button>
                </td>
                <td class="wide-only">{session.agentId}</td>
                <td class="wide-only">{channelOf(session) ?? ''}</td>
                <td class="number">{session.messageCount}</td>
                <td class="number" title={String(session.tokenEstimate)}>
                  {shortCount(session.tokenEstimate)}
                </td>
                <td class="number">
                  <When at={session.lastAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && isListed.value && (
          <div class="empty">
            <NoSessions />
          </div>
        )}
        {hasMoreSorted.value && (
          <>
            <p class="hint">{t('listPart', rows.length)}</p>
            <button type="button" class="more" onClick={() => void moreSorted()}>
              {t('loadMore')}
            </button>
          </>
        )}
      </div>
    </>
  );
}
