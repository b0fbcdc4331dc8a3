import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { dismiss, toasts } from '../shell/toasts.ts';
import { Icon } from './icon.tsx';

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, kind, action }) => (
        <div key={id} class={`toast ${kind}`}>
          <span class="pre">{text}</span>
          {action !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="quiet small" aria-label={t('close')} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
