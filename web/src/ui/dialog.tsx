import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { connection } from '../api/api.ts';
import { t } from '../i18n/strings.ts';
import { closeDialog } from '../shell/dialogs.ts';
import { Icon } from './icon.tsx';

export interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
  /** Without a visible heading; the title is for screen readers. */
  readonly bare?: boolean;
}

/** A native dialog: the browser traps and restores the focus, and Escape closes it. */
export function Dialog({ title, children, wide = false, bare = false }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const box = element.current;
    const before = document.activeElement;
    box?.showModal();
    return () => {
      box?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={wide ? 'wide' : undefined}
      aria-label={title}
      // The event arrives late, when another dialog may be open; ignore it if this element is gone.
      onClose={() => {
        if (element.current !== null) closeDialog();
      }}
      onCancel={closeDialog}
      onClick={(event) => {
        if (event.target === element.current) closeDialog();
      }}
    >
      {!bare && (
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet" aria-label={t('close')} onClick={closeDialog}>
            <Icon name="close" />
          </button>
        </header>
      )}
      {connection.value === 'reconnecting' && (
        <p class="banner" role="status">
          {t('notAnswering')}
        </p>
      )}
      <div class="inside">{children}</div>
    </dialog>
  );
}
