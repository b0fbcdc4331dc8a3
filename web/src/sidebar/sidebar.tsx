import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { connection } from '../api/api.ts';
import { NoSessions } from '../conversation/nothing-here.tsx';
import { t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { formatRoute, route } from '../shell/route.ts';
import { Views } from '../shell/views.tsx';
import { pageEntries } from '../transcript/menu-entries.ts';
import { Icon, Logo } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { FacetPanel } from './facet-panel.tsx';
import { groupSessions } from './session-groups.ts';
import { SessionRow } from './session-row.tsx';
import {
  facets,
  filterText,
  hasMoreSessions,
  isIncomplete,
  isListed,
  loadMore,
  sessions,
} from './sessions.ts';
import { markRead } from './unread.ts';

const ROW = 52;
const GROUP = 30;

export function Sidebar(): JSX.Element {
  const list = sessions.value;
  const at = route.value;
  const shownId = at.view === 'session' ? at.sessionId : undefined;
  useEffect(() => markRead(list, shownId), [list, shownId]);
  const text = filterText.value.trim();
  const search = (): void => {
    dialog.value = { kind: 'search', text };
  };
  return (
    <nav class="sidebar" aria-label={t('sessions')}>
      <header>
        <a class="brand" href="#/" title={t('newChat')}>
          <Logo />
          Reprise
        </a>
        <button
          type="button"
          class="quiet"
          aria-label={t('search')}
          title={`${t('search')} (Ctrl K)`}
          onClick={() => {
            dialog.value = { kind: 'search' };
          }}
        >
          <Icon name="search" />
        </button>
        <a
          class="button primary"
          href={formatRoute({ view: 'new' })}
          aria-label={t('newChat')}
          title={`${t('newChat')} (Alt N)`}
        >
          <Icon name="plus" />
        </a>
      </header>
      <Views />
      <div class="filters">
        <input
          id="filter"
          type="search"
          placeholder={t('filterOrSearch')}
          aria-label={t('filter')}
          value={filterText.value}
          onInput={(event) => {
            filterText.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.isComposing && text.length > 1) search();
          }}
        />
        <FacetPanel />
      </div>
      {text.length > 1 && list.length > 0 && (
        <button type="button" class="search-for" onClick={search}>
          <Icon name="search" />
          <span class="short">{t('searchFor', text)}</span>
        </button>
      )}
      {isIncomplete.value && (
        <p class="notes" role="status">
          {t('listIncomplete')}
        </p>
      )}
      {list.length > 0 ? (
        <VirtualList
          items={groupSessions(list, new Date())}
          keyOf={({ key }) => key}
          guess={({ type }) => (type === 'group' ? GROUP : ROW)}
          resetKey={JSON.stringify(facets.value)}
          label={t('sessions')}
          class="sessions"
          onNearEnd={() => void loadMore()}
          render={(row) =>
            row.type === 'group' ? (
              <div class="group" role="listitem">
                {t(row.name)}
              </div>
            ) : (
              <SessionRow session={row.session} />
            )
          }
        />
      ) : (
        <div class="empty">{isListed.value && <NoSessions />}</div>
      )}
      <footer>
        <span class={`dot ${connection.value}`} />
        <span role="status">{t(connection.value)}</span>
        {list.length > 0 && (
          <span class="count">
            {list.length === 1 && !hasMoreSessions.value
              ? t('oneSession')
              : t('sessionCount', `${list.length}${hasMoreSessions.value ? '+' : ''}`)}
          </span>
        )}
        <Menu label={t('more')} entries={pageEntries} />
      </footer>
    </nav>
  );
}
