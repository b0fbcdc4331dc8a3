import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { isListOpen } from '../shell/shell-state.ts';
import { Icon } from './icon.tsx';

/** Where the page is narrow, the list of sessions lies over it and is opened from every view. */
export function ListButton(): JSX.Element {
  return (
    <button
      type="button"
      class="quiet only-narrow"
      aria-label={t('menu')}
      aria-expanded={isListOpen.value}
      onClick={() => {
        isListOpen.value = !isListOpen.value;
      }}
    >
      <Icon name="menu" />
    </button>
  );
}
