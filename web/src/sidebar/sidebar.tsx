import type { JSX } from 'preact';
import { connection } from '../api/api.ts';
import { NoSessions } from '../conversation/nothing-here.tsx';
import { t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { formatRoute } from '../shell/route.ts';
import { Views } from '../shell/views.tsx';
import { pageEntries } from '../transcript/menu-entries.ts';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { VirtualList } from '../ui/virtual-list.tsx';
import { FacetPanel } from './facet-panel.tsx';
import { SessionRow } from './session-row.tsx';
import { facets, filterText, isIncomplete, isListed, loadMore, sessions } from './sessions.ts';

const ROW = 52;

export function Sidebar(): JSX.Element {
  const list = sessions.value;
  return (
    <nav class="sidebar" aria-label={t('sessions')}>
      <header>
        <a class="brand" href="#/" title={t('newChat')}>
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
          placeholder={t('filter')}
          aria-label={t('filter')}
          value={filterText.value}
          onInput={(event) => {
            filterText.value = event.currentTarget.value;
          }}
        />
        <FacetPanel />
      </div>
      {isIncomplete.value && (
        <p class="notes" role="status">
          {t('listIncomplete')}
        </p>
      )}
      {list.length > 0 ? (
        <VirtualList
          items={list}
          keyOf={({ id }) => id}
          guess={() => ROW}
          resetKey={JSON.stringify(facets.value)}
          label={t('sessions')}
          class="sessions"
          onNearEnd={() => void loadMore()}
          render={(session) => <SessionRow session={session} />}
        />
      ) : (
        <div class="empty">{isListed.value && <NoSessions />}</div>
      )}
      <footer>
        <span class={`dot ${connection.value}`} />
        <span role="status">{t(connection.value)}</span>
        <Menu label={t('more')} entries={pageEntries} />
      </footer>
    </nav>
  );
}
