import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { CacheBreak, ExplainAnswer } from 'reprise/client';
import { attempt } from '../api/api.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { partName } from '../conversation/part-name.ts';
import { duration, shortCount } from '../i18n/format.ts';
import { messageText, t } from '../i18n/strings.ts';
import { Dialog } from '../ui/dialog.tsx';

export interface ExplainDialogProps {
  readonly conversation: Conversation;
  readonly turnId: string;
}

/** What the model received in each call of a turn, and whether the stored record proves it. */
export function ExplainDialog({ conversation, turnId }: ExplainDialogProps): JSX.Element {
  const told = useSignal<ExplainAnswer | undefined>(undefined);
  useEffect(() => {
    void attempt(async () => {
      told.value = await conversation.remote.explain(turnId);
    });
  }, [turnId]);
  return (
    <Dialog title={t('explain')} wide>
      {told.value !== undefined && told.value.messages.length > 0 && (
        <Messages messages={told.value.messages} />
      )}
      {told.value?.calls.map((call, i) => (
        <Call key={i} number={i + 1} call={call} />
      ))}
    </Dialog>
  );
}

/** The messages of the turn: several if some were steered or collected into it. */
function Messages({ messages }: Pick<ExplainAnswer, 'messages'>): JSX.Element {
  return (
    <section class="call">
      <h3>{t('explainMessages')}</h3>
      <ul>
        {messages.map(({ inboxId, position, sender, channel }) => (
          <li key={inboxId}>
            {[position === undefined ? '' : `#${position}`, sender?.name ?? sender?.id, channel]
              .filter(Boolean)
              .join(' · ')}{' '}
            <code>{inboxId}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Call({
  call,
  number,
}: {
  readonly call: ExplainAnswer['calls'][number];
  readonly number: number;
}): JSX.Element {
  const { model, messages, latencyMs, split, verified, request, edits, compaction } = call;
  const cacheBreak = cacheBreakText(call);
  const parts = Object.entries((split ?? {}) as Readonly<Record<string, number>>).filter(
    ([, part]) => part > 0,
  );
  return (
    <section class="call">
      <h3>
        {t('explainCall', number)} · {String(model)} · {sent(call)} {t('tokens')} ·{' '}
        {duration(Number(latencyMs))}
      </h3>
      <p>
        <span class={verified === true ? 'badge good' : 'badge'}>
          {t(verified === true ? 'verified' : 'notVerified')}
        </span>{' '}
        {messages === 1 ? t('oneMessage') : t('messages', Number(messages))}
        {compaction != null && ` · ${t('summary')}`}
        {Number(edits) > 0 && ` · ${t('shortened', Number(edits))}`}
      </p>
      {cacheBreak !== undefined && <p class="hint">{t('cacheBreak', cacheBreak)}</p>}
      <dl class="split">
        {parts.map(([name, part]) => (
          <div key={name}>
            <dt>
              <i class={`part ${name}`} />
              {partName(name)}
            </dt>
            <dd>≈ {part.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>{t('explainRequest')}</summary>
        <pre tabIndex={0}>{JSON.stringify(request, null, 2)}</pre>
      </details>
    </section>
  );
}

/** Why the request could not reuse the prompt cache. */
function cacheBreakText({ cacheBreak, cacheBreakCode }: ExplainAnswer['calls'][number]): string | undefined {
  if (typeof cacheBreak !== 'string') return undefined;
  const cause = cacheBreakCode as CacheBreak;
  return messageText({ code: 'cacheBreak', params: { cause } }) ?? cacheBreak;
}

/** Input tokens as counted by the provider, or the estimate if it did not report any. */
function sent({ usage, tokens }: ExplainAnswer['calls'][number]): string {
  if (usage == null) return `≈ ${shortCount(Number(tokens))}`;
  const { input, cacheRead, cacheWrite } = usage as Readonly<Record<string, number>>;
  return shortCount((input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0));
}
