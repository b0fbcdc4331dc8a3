import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../../i18n/strings.ts';
import { Icon } from '../../ui/icon.tsx';

export interface DrawerProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly actions?: ComponentChildren;
  /** Which line (`data-line`) is the first of those that are shown; none yet: undefined. */
  readonly first: string | undefined;
  /** Which line is to be in sight. */
  readonly wanted?: string | undefined;
  readonly children: ComponentChildren;
}

/**
 * Beside the table, to read in: at its end, or at a line that is wanted. What comes above moves nothing. Escape closes
 * it and the focus goes back.
 */
export function Drawer({ title, onClose, actions, first, wanted, children }: DrawerProps): JSX.Element {
  const close = useRef<HTMLButtonElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useRef<Pick<DrawerProps, 'first' | 'wanted'>>(undefined);
  const lineOf = (id = ''): Element | null | undefined =>
    scroller.current?.querySelector(`[data-line="${CSS.escape(id)}"]`);
  // Where the first line was before this is drawn: the document is still the one of the last time.
  const was = shown.current?.first === first ? undefined : lineOf(shown.current?.first);
  const top = was?.getBoundingClientRect().top ?? 0;
  useLayoutEffect(() => {
    const { current: box } = scroller;
    if (box === null || first === undefined) return;
    const isAnother = shown.current === undefined || shown.current.wanted !== wanted;
    if (!isAnother && was?.isConnected === true) box.scrollTop += was.getBoundingClientRect().top - top;
    else if (isAnother && wanted !== undefined) lineOf(wanted)?.scrollIntoView({ block: 'center' });
    else if (isAnother) box.scrollTop = box.scrollHeight;
    shown.current = { first, wanted };
  }, [first, wanted]);
  useLayoutEffect(() => {
    // Whoever pressed a button that led to the last page and is gone with it: the keys go on here.
    if (shown.current !== undefined && document.activeElement === document.body)
      scroller.current?.focus({ preventScroll: true });
  });
  useEffect(() => {
    const before = document.activeElement;
    close.current?.focus();
    return () => {
      const now = document.activeElement;
      // Whoever has gone on to another row stays there.
      const isHere = now === document.body || scroller.current?.parentElement?.contains(now) === true;
      if (isHere && before instanceof HTMLElement) before.focus();
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
      <div ref={scroller} class="scroll" tabIndex={0} role="region" aria-label={title}>
        {children}
      </div>
    </aside>
  );
}
