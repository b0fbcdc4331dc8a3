import type { JSX } from 'preact';
import { t } from '../i18n/strings.ts';
import { Icon } from '../ui/icon.tsx';

export function Thinking({
  text,
  isOpen = false,
}: {
  readonly text: string;
  readonly isOpen?: boolean;
}): JSX.Element {
  return (
    <details class="thinking" open={isOpen}>
      <summary>
        <Icon name="chevron" />
        {t('thinking')}
      </summary>
      <p class="pre">{text}</p>
    </details>
  );
}
