import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../i18n/strings.ts';
import { copyText } from './copy-text.ts';
import { Icon } from './icon.tsx';

export function CopyButton({ text }: { readonly text: string }): JSX.Element {
  const [isDone, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await copyText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      class="quiet small"
      onClick={() => void copy()}
      aria-label={t(isDone ? 'copied' : 'copy')}
    >
      <Icon name={isDone ? 'check' : 'copy'} />
    </button>
  );
}
