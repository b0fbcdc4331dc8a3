import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../../i18n/strings.ts';
import { Icon } from '../../ui/icon.tsx';

export interface DrawerProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly actions?: ComponentChildren;
  /** The `data-line` of the first loaded line; undefined before lines are loaded. */
  readonly first: string | undefined;
  /** The `data-line` to scroll to. */
  readonly wanted?: string | undefined;
  readonly children: ComponentChildren;
}

/**
 * A panel next to the table that shows lines, at the end or at a wanted line. Lines loaded above do not move the text
 * in view. Escape closes it and returns the focus.
 */
export function Drawer({ title, onClose, actions, first, wanted, children }: DrawerProps): JSX.Element {
  const close = useRef<HTMLButtonElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const shown = useRef<Pick<DrawerProps, 'first' | 'wanted'>>(undefined);
  const lineOf = (id = ''): Element | null | undefined =>
    scroller.current?.querySelector(`[data-line="${CSS.escape(id)}"]`);
  // The position of the first line before this render; the DOM still has the previous state.
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
    // If the focused button disappeared after loading the last page, keep the keyboard focus in the drawer.
    if (shown.current !== undefined && document.activeElement === document.body)
      scroller.current?.focus({ preventScroll: true });
  });
  useEffect(() => {
    const before = document.activeElement;
    close.current?.focus();
    return () => {
      const now = document.activeElement;
      // If the user has moved the focus to another row, leave it there.
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
