import type { JSX } from 'preact';
import type { Conversation } from '../conversation/conversation.ts';
import type { Pending } from '../conversation/pending.ts';
import { t } from '../i18n/strings.ts';

export interface PendingMessageProps {
  readonly conversation: Conversation;
  readonly pending: Pending;
}

export function PendingMessage({ conversation, pending }: PendingMessageProps): JSX.Element {
  const { state, text, images, error, key } = pending;
  return (
    <article class={`message user ${state}`}>
      <header>
        <b>{t('you')}</b>
        {state === 'sending' && <span class="badge">{t('sending')}</span>}
        {state === 'waiting' && <span class="badge">{t('waitsBadge')}</span>}
        {state === 'failed' && <span class="badge wrong">{t('notSent')}</span>}
      </header>
      <p class="said">{text}</p>
      {images.length > 0 && (
        <div class="pictures">
          {images.map(({ data, mimeType, name }) => (
            <img key={name} src={`data:${mimeType};base64,${data}`} alt={name} />
          ))}
        </div>
      )}
      {state === 'failed' && (
        <p class="ended wrong">
          {error}{' '}
          <button type="button" onClick={() => conversation.sendAgain(pending)}>
            {t('again')}
          </button>
          {pending.before === undefined && (
            <button type="button" onClick={() => conversation.takeBack(pending)}>
              {t('edit')}
            </button>
          )}
          <button type="button" onClick={() => conversation.dropPending(key)}>
            {t('cancel')}
          </button>
        </p>
      )}
    </article>
  );
}
