import { useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { SearchHit } from 'reprise/client';
import { attempt, client, isAbort } from '../api/api.ts';
import { channelOf, nameOf } from '../conversation/session-keys.ts';
import { fullTime, shortTime } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { go } from '../shell/route.ts';
import { meetChannels, useChannelChoices } from '../sidebar/channel-choices.ts';
import { knownSession } from '../sidebar/sessions.ts';
import { Snippet } from '../transcript/snippet.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { type Offer, paletteOffers } from './palette-offers.ts';

const TYPING_MS = 120;
const AGAIN_MS = 1000;
/** The delay doubles each time, for about half a minute in total; after that the user has to search again. */
const MOST_REPEATS = 5;
const PAGE = 50;

interface Query {
  readonly q: string;
  readonly channel?: string;
}

interface Ask {
  readonly query: Query;
  /** Hits that are already shown, and the cursor after them. */
  readonly before?: readonly SearchHit[];
  readonly after?: string;
  readonly signal?: AbortSignal;
}

interface Found {
  readonly query: Query;
  readonly hits: readonly SearchHit[];
  /** The cursor of older hits. */
  readonly next: string | null;
  readonly isComplete: boolean;
}

/** Offers sessions and commands, and searches all messages as the user types; Enter opens or runs the chosen one. */
export function SearchDialog({ begin = '' }: { readonly begin?: string | undefined }): JSX.Element {
  const text = useSignal(begin);
  const channel = useSignal('');
  /** The id of the selected hit, because its index changes when hits are added before it. */
  const chosen = useSignal<string | undefined>(undefined);
  const found = useSignal<Found | undefined>(undefined);
  const ask = async ({ query, before = [], after, signal }: Ask): Promise<void> => {
    await attempt(async () => {
      try {
        const page = { ...query, limit: PAGE, ...(after !== undefined && { after }) };
        const { data, next, complete } = await client.value.search(page, { signal });
        // The shown hits have changed meanwhile.
        if (after !== undefined && found.value?.hits !== before) return;
        meetChannels(data.flatMap(({ session }) => (session && channelOf(session)) ?? []));
        const hits = [...before, ...data];
        found.value = { query, hits, next, isComplete: complete };
      } catch (error) {
        if (!isAbort(error)) throw error;
      }
    });
  };
  useSignalEffect(() => {
    const query = { q: text.value.trim(), ...(channel.value !== '' && { channel: channel.value }) };
    chosen.value = undefined;
    if (query.q.length < 2) {
      found.value = undefined;
      return undefined;
    }
    const stop = new AbortController();
    let timer = setTimeout(() => void look(0), TYPING_MS);
    const look = async (repeats: number): Promise<void> => {
      await ask({ query, signal: stop.signal });
      const first = found.value;
      // Repeat an incomplete search: a busy server or an unfinished index has more hits later. Loaded older hits stay.
      const isLacking = first?.query === query && !first.isComplete;
      if (!isLacking || stop.signal.aborted || repeats === MOST_REPEATS) return;
      const next = (): unknown => found.value === first && look(repeats + 1);
      timer = setTimeout(next, AGAIN_MS * 2 ** repeats);
    };
    return () => {
      clearTimeout(timer);
      stop.abort(new DOMException('typed on', 'AbortError'));
    };
  });
  const hits = found.value?.hits ?? [];
  const offers = paletteOffers(text.value);
  const ids = [...offers.map(({ id }) => id), ...hits.map(({ id }) => id)];
  const at = Math.max(0, ids.indexOf(chosen.value ?? ''));
  // Not on every render: a user who scrolled away stays there when the search is repeated. A layout effect, because
  // scrolling after the frame would move the list under the user.
  useLayoutEffect(() => {
    document.getElementById(`hit-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [ids[at], found.value?.query]);
  const next = found.value?.next ?? undefined;
  const older =
    next === undefined || found.value === undefined
      ? undefined
      : { ...found.value, before: hits, after: next };
  const channels = useChannelChoices();
  const open = ({ sessionId, agentId, entryId }: SearchHit): void => {
    closeDialog();
    go({ view: 'session', agentId, sessionId, entry: entryId });
  };
  const run = (offer: Offer): void => {
    closeDialog();
    offer.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter confirms the input method's suggestion.
    if (event.isComposing) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0 && ids.length > 0) {
      event.preventDefault();
      chosen.value = ids[(at + step + ids.length) % ids.length];
    }
    if (event.key !== 'Enter') return;
    const offer = offers[at];
    const hit = hits[at - offers.length];
    if (offer !== undefined) run(offer);
    else if (hit !== undefined) open(hit);
  };
  return (
    <Dialog title={t('search')} bare wide>
      <div class="search-head">
        <input
          class="search-field"
          type="text"
          enterkeyhint="search"
          autofocus
          placeholder={t('palette')}
          aria-label={t('search')}
          aria-controls="hits"
          aria-autocomplete="list"
          aria-activedescendant={ids.length > 0 ? `hit-${at}` : undefined}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
          onKeyDown={onKeyDown}
        />
        {channels.length > 0 && (
          <select
            aria-label={t('channel')}
            value={channel.value}
            onChange={(event) => {
              channel.value = event.currentTarget.value;
            }}
          >
            <option value="">{t('allChannels')}</option>
            {channels.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </div>
      <div id="hits" class="hits" role="listbox" aria-label={t('search')}>
        {offers.map((offer, i) => (
          <div
            key={offer.id}
            id={`hit-${i}`}
            class="offer"
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onClick={() => run(offer)}
          >
            <Icon name={offer.icon} />
            <b>{offer.label}</b>
            {offer.note !== undefined && <span class="notes">{offer.note}</span>}
          </div>
        ))}
        {hits.map((hit, j) => {
          const i = offers.length + j;
          const session = hit.session ?? knownSession(hit.sessionId);
          const where = session && channelOf(session);
          return (
            <div
              key={hit.id}
              id={`hit-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === at}
              onClick={() => open(hit)}
            >
              <b>{session === undefined ? hit.sessionId : nameOf({ ...session, id: hit.sessionId })}</b>
              {hit.position !== undefined && <span class="position">#{hit.position}</span>}
              {where !== undefined && <span class="badge">{where}</span>}
              <time dateTime={hit.at} title={fullTime(hit.at)}>
                {shortTime(hit.at)}
              </time>
              <Snippet text={hit.snippet} marks={hit.marks} />
            </div>
          );
        })}
      </div>
      <p class="hint" role="status">
        {found.value !== undefined && t(hits.length === 0 ? 'noHits' : 'hitCount', hits.length)}{' '}
        {found.value?.isComplete === false && t('moreHits')}
      </p>
      {older !== undefined && (
        <button type="button" class="more" onClick={() => void ask(older)}>
          {t('olderHits')}
        </button>
      )}
    </Dialog>
  );
}
