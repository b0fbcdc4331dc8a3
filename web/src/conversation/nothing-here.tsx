import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { CodeBlock } from '../markdown/code-block.tsx';
import { dialog } from '../shell/dialogs.ts';
import { formatRoute } from '../shell/route.ts';
import { facets, filterText, NO_FACETS } from '../sidebar/sessions.ts';
import { conversation } from './open-conversations.ts';

/** Explains that the link's session does not exist, and offers others. */
export function MissingSession(): JSX.Element | null {
  const current = conversation.value;
  if (current === undefined) return null;
  return (
    <div class="empty welcome">
      <h2>{t(current.problem === '' ? 'notFound' : 'notShown')}</h2>
      <p>{current.problem}</p>
      <p class="ways">
        <a class="button" href={formatRoute({ view: 'new' })}>
          {t('newChat')}
        </a>
        <button type="button" onClick={() => void current.open()}>
          {t('again')}
        </button>
      </p>
    </div>
  );
}

/** If the filter finds no session, offers to search in the messages. */
export function NoSessions(): JSX.Element {
  const text = filterText.value;
  if (text === '' && facets.value === NO_FACETS)
    return (
      <>
        <p>{t('noSessions')}</p>
        <CodeBlock code="reprise import ~/.openclaw --dry-run" lang="" />
      </>
    );
  return (
    <>
      <p>{t('noMatch')}</p>
      <div class="ways">
        {text !== '' && (
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'search', text };
            }}
          >
            {t('searchInstead')}
          </button>
        )}
        <button
          type="button"
          onClick={() => {
            filterText.value = '';
            facets.value = NO_FACETS;
          }}
        >
          {t('clear')}
        </button>
      </div>
    </>
  );
}
