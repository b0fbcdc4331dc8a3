import type { JSX } from 'preact';
import type { Conversation } from '../stores/conversation.ts';
import { chooseAgent } from '../stores/open-conversations.ts';
import { formatRoute } from '../stores/route.ts';
import { agents } from '../stores/sessions.ts';
import { t } from '../strings.ts';
import { ChatHeader } from './chat-header.tsx';
import { Composer } from './composer.tsx';
import { Transcript } from './transcript.tsx';

export function ChatView({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const state = conversation.state.value;
  const isEmpty = state === 'new' && conversation.pending.value.length === 0;
  const view = conversation.history.view.value;
  const isClosed = view?.status === 'deleted' || view?.corruptAt !== undefined;
  return (
    <section class="chat" aria-busy={state === 'loading'}>
      <ChatHeader conversation={conversation} />
      {state === 'missing' && (
        <div class="empty welcome">
          <h2>{t(conversation.problem === '' ? 'notFound' : 'notShown')}</h2>
          <p>{conversation.problem}</p>
          <p class="ways">
            <a class="button" href={formatRoute({ view: 'new' })}>
              {t('newChat')}
            </a>{' '}
            <button type="button" onClick={() => void conversation.open()}>
              {t('again')}
            </button>
          </p>
        </div>
      )}
      {isEmpty && (
        <div class="empty welcome">
          <h2>{t('begin')}</h2>
          <p>{t('beginHelp')}</p>
          {agents.value.length > 1 && (
            <label class="choose">
              {t('agent')}
              <select
                value={conversation.agentId}
                onChange={(event) => chooseAgent(event.currentTarget.value)}
              >
                {agents.value.map(({ id, model }) => (
                  <option key={id} value={id}>
                    {id} · {model}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      )}
      {!isEmpty && state !== 'missing' && <Transcript conversation={conversation} />}
      {state === 'loading' && <p class="loading">{t('loading')}</p>}
      {state !== 'missing' && <Composer conversation={conversation} isClosed={isClosed} />}
      <p class="offscreen" role="status" aria-live="polite">
        {conversation.live.value === undefined ? announce(conversation.spoken.value) : t('replying')}
      </p>
    </section>
  );
}

const SPOKEN_CHARS = 600;

function announce(text: string): string {
  return text === '' ? '' : t('replied', text.slice(0, SPOKEN_CHARS));
}
