import type { JSX } from 'preact';
import { Composer } from '../composer/composer.tsx';
import { t } from '../i18n/strings.ts';
import { agents } from '../sidebar/sessions.ts';
import { Transcript } from '../transcript/transcript.tsx';
import { ChatHeader } from './chat-header.tsx';
import type { Conversation } from './conversation.ts';
import { MissingSession } from './nothing-here.tsx';
import { chooseAgent } from './open-conversations.ts';

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
          <h2>{t('begin')}</h2>
          <p>{t('beginHelp')}</p>
          {state === 'new' && agents.value.length > 1 && (
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
      {state !== 'missing' && <Composer conversation={conversation} />}
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
