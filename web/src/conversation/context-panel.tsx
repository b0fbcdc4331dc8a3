import type { JSX } from 'preact';
import { shortCount } from '../i18n/format.ts';
import { t } from '../i18n/strings.ts';
import { dialog } from '../shell/dialogs.ts';
import { contextParts } from './context-parts.ts';
import type { Conversation } from './conversation.ts';
import { conversation } from './open-conversations.ts';
import { partName } from './part-name.ts';
import { showSummary } from './steps.ts';

/** Where the context went, and what can be done about it. */
export function ContextPanel(): JSX.Element | null {
  const current = conversation.value;
  const report = current?.context.value;
  if (current === undefined || report === undefined) return null;
  const { split, budget, tokens, window } = report;
  return (
    <div class="popped">
      <p>
        <b>{t('contextSent')}</b>
      </p>
      <p>{t('contextOf', shortCount(tokens), shortCount(window.tokens))}</p>
      <dl>
        {contextParts(report).parts.map((part) => (
          <div key={part.name}>
            <dt>
              <i class={`part ${part.name}`} />
              {partName(part.name)}
            </dt>
            <dd>{part.tokens.toLocaleString('en')}</dd>
          </div>
        ))}
      </dl>
      <p class="hint">{t('contextFull', shortCount(budget))}</p>
      <div class="does">
        {(split['summary'] ?? 0) > 0 && (
          <button type="button" onClick={(event) => closeAndShow(current, event.currentTarget)}>
            {t('showSummary')}
          </button>
        )}
        {current.history.view.value?.status === 'open' && (
          <button
            type="button"
            onClick={() => {
              dialog.value = { kind: 'compact', conversation: current };
            }}
          >
            {t('compact')}
          </button>
        )}
      </div>
    </div>
  );
}

function closeAndShow(current: Conversation, button: HTMLElement): void {
  const panel = button.closest('details');
  if (panel !== null) panel.open = false;
  // It is out of sight now; `showSummary` moves a focus that nothing has.
  button.blur();
  void showSummary(current);
}
