import { useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import type { SearchAnswer, SearchHit } from 'reprise/client';
import { shortTime } from '../format.ts';
import { attempt, client, isAbort } from '../stores/api.ts';
import { closeDialog } from '../stores/dialogs.ts';
import { go } from '../stores/route.ts';
import { nameOf } from '../stores/session-keys.ts';
import { knownSession } from '../stores/sessions.ts';
import { t } from '../strings.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Snippet } from './snippet.tsx';

const TYPING_MS = 120;

/** All sessions, as it is typed; Enter opens a hit at its message. */
export function SearchDialog(): JSX.Element {
  const text = useSignal('');
  const chosen = useSignal(0);
  const found = useSignal<SearchAnswer | undefined>(undefined);
  useSignalEffect(() => {
    const q = text.value.trim();
    if (q.length < 2) {
      found.value = undefined;
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      void attempt(async () => {
        try {
          found.value = await client.value.search({ q, limit: 50 }, { signal: stop.signal });
          chosen.value = 0;
        } catch (error) {
          if (!isAbort(error)) throw error;
        }
      });
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      stop.abort(new DOMException('typed on', 'AbortError'));
    };
  });
  const hits = found.value?.data ?? [];
  const open = ({ sessionId, agentId, entryId }: SearchHit): void => {
    closeDialog();
    go({ view: 'session', agentId, sessionId, entry: entryId });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      event.preventDefault();
      chosen.value = (chosen.value + step + hits.length) % hits.length;
    }
    const hit = hits[chosen.value];
    if (event.key === 'Enter' && hit !== undefined) open(hit);
  };
  return (
    <Dialog title={t('search')} bare wide>
      <input
        class="search-field"
        type="text"
        enterkeyhint="search"
        autofocus
        placeholder={t('searchHint')}
        aria-label={t('search')}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen.value}` : undefined}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      <div id="hits" class="hits" role="listbox" aria-label={t('search')}>
        {hits.map((hit, i) => {
          const session = knownSession(hit.sessionId);
          return (
            <div
              key={hit.id}
              id={`hit-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === chosen.value}
              ref={(element) => {
                if (i === chosen.value) element?.scrollIntoView({ block: 'nearest' });
              }}
              onClick={() => open(hit)}
            >
              <b>{session === undefined ? hit.sessionId : nameOf(session)}</b>
              <time dateTime={hit.at}>{shortTime(hit.at)}</time>
              <Snippet text={hit.snippet} marks={hit.marks} />
            </div>
          );
        })}
      </div>
      <p class="hint" role="status">
        {found.value !== undefined && hits.length === 0 && t('noHits')}
        {found.value?.hasMore && t('moreHits')}
      </p>
    </Dialog>
  );
}
