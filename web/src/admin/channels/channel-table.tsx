import type { JSX } from 'preact';
import type { Conversation as Channel } from 'reprise/client';
import { t } from '../../i18n/strings.ts';
import { Choice } from '../../sidebar/facet-fields.tsx';
import {
  type ChannelFilter,
  channelAgents,
  channelCursor,
  channelFilter,
  channels,
  moreChannels,
} from './channels.ts';
import { Field } from './field.tsx';
import { NoChannels } from './no-channels.tsx';
import { SortHead } from './sort-head.tsx';
import { When } from './when.tsx';

export function ChannelTable({ onOpen }: { readonly onOpen: (channel: Channel) => void }): JSX.Element {
  const filter = channelFilter.value;
  const change = (part: Partial<ChannelFilter>): void => {
    channelFilter.value = { ...channelFilter.value, ...part };
  };
  const head = {
    sort: filter.sort,
    onSort: (sort: string) => change({ sort: sort as ChannelFilter['sort'] }),
  };
  return (
    <>
      <div class="admin-filters">
        <Choice
          label={t('agent')}
          value={filter.agentId}
          options={channelAgents.value}
          onChange={(agentId) => change({ agentId })}
        />
        <Field
          label={t('channel')}
          value={filter.channelType}
          onChange={(channelType) => change({ channelType })}
        />
        <Field label={t('member')} value={filter.member} onChange={(member) => change({ member })} />
        <Field label={t('keyword')} value={filter.q} onChange={(q) => change({ q })} />
      </div>
      <div class="scroll admin-table" tabIndex={0} role="region" aria-label={t('channels')}>
        <table>
          <thead>
            <tr>
              <th>{t('channel')}</th>
              <th>{t('members')}</th>
              <th class="wide-only">{t('lastMessage')}</th>
              <SortHead {...head} name="messages" label={t('messagesHead')} />
              <SortHead {...head} name="time" label={t('lastHead')} />
            </tr>
          </thead>
          <tbody>
            {channels.value?.map((channel) => (
              <tr key={`${channel.agentId} ${channel.channelType} ${channel.channelId}`}>
                <td>
                  <button type="button" class="link" onClick={() => onOpen(channel)}>
                    {channel.channelType} {channel.channelId}
                  </button>
                  {channel.agentId !== 'main' && <span class="notes"> {channel.agentId}</span>}
                </td>
                <td class="clip">{channel.members.map(({ name, id }) => name ?? id).join(', ')}</td>
                <td class="clip wide-only">{channel.lastText}</td>
                <td class="number">{channel.messages}</td>
                <td class="number">
                  <When at={channel.lastAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {channels.value?.length === 0 && <NoChannels />}
        {channelCursor.value !== null && (
          <button type="button" class="more" onClick={() => void moreChannels()}>
            {t('loadMore')}
          </button>
        )}
      </div>
    </>
  );
}
