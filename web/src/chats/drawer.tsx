import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../strings.ts';
import { Icon } from '../ui/icon.tsx';

export interface DrawerProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** Beside the table, to read in; Escape closes it and the focus goes back. */
export function Drawer({ title, onClose, actions, children }: DrawerProps): JSX.Element {
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    close.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <aside
      class="drawer"
      aria-label={title}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        {actions}
        <button ref={close} type="button" class="quiet" aria-label={t('close')} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        {children}
      </div>
    </aside>
  );
}
