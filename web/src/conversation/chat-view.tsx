import type { JSX } from 'preact';
import { Composer } from '../composer/composer.tsx';
import { t } from '../i18n/strings.ts';
import { Transcript } from '../transcript/transcript.tsx';
import { ChatHeader } from './chat-header.tsx';
import type { Conversation } from './conversation.ts';
import { MissingSession } from './nothing-here.tsx';

export function ChatView({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const state = conversation.state.value;
  // Also where nothing but commands was typed so far.
  const isEmpty =
    /new|ready/.test(state) &&
    conversation.live.value === undefined &&
    conversation.pending.value.length + conversation.history.rows.value.length === 0;
  return (
    <section class="chat" aria-busy={state === 'loading'}>
      <ChatHeader conversation={conversation} />
      {state === 'missing' && <MissingSession />}
      {isEmpty && (
        <div class="empty welcome">
          <h2>{greeting(new Date().getHours())}</h2>
          <p>{t('beginHelp')}</p>
          <div class="starts">
            {STARTS.map(([label, text]) => (
              <button key={label} type="button" onClick={() => conversation.suggest(t(text))}>
                {t(label)}
              </button>
            ))}
          </div>
          <p class="hint">{t('dropHint')}</p>
        </div>
      )}
      {!isEmpty && state !== 'missing' && <Transcript conversation={conversation} />}
      {state === 'loading' && <p class="loading">{t('loading')}</p>}
      {state !== 'missing' && <Composer conversation={conversation} />}
      <p class="offscreen" role="status" aria-live="polite">
        {conversation.live.value === undefined ? announce(conversation.spoken.value) : t('replying')}
      </p>
    </section>
  );
}

const STARTS = [
  ['startExplain', 'startExplainText'],
  ['startPlan', 'startPlanText'],
  ['startReview', 'startReviewText'],
] as const;

function greeting(hour: number): string {
  return t(hour < 5 || hour >= 18 ? 'goodEvening' : hour < 12 ? 'goodMorning' : 'goodAfternoon');
}

const SPOKEN_CHARS = 600;

function announce(text: string): string {
  return text === '' ? '' : t('replied', text.slice(0, SPOKEN_CHARS));
}
