import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export interface MenuEntry {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
}

export interface MenuProps {
  readonly label: string;
  /** Asked for while it is open. */
  readonly entries: () => readonly MenuEntry[];
  readonly icon?: IconName;
}

/** A popover of the browser: above everything, closed by Escape or a click elsewhere. */
export function Menu({ label, entries, icon = 'more' }: MenuProps): JSX.Element {
  const id = useId();
  const isOpen = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const place = (): void => {
    const [from, box] = [button.current?.getBoundingClientRect(), list.current];
    if (from === undefined || box === null) return;
    const { offsetWidth: width, offsetHeight: height } = box;
    box.style.left = `${Math.max(8, Math.min(from.right - width, innerWidth - width - 8))}px`;
    const below = from.bottom + 4;
    box.style.top = `${below + height > innerHeight - 8 ? Math.max(8, from.top - height - 4) : below}px`;
    box.querySelector('button')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const all = [...(list.current?.querySelectorAll('button') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    all[(at + step + all.length) % all.length]?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="quiet small"
        aria-label={label}
        title={label}
        popovertarget={id}
        aria-haspopup="menu"
      >
        <Icon name={icon} />
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        class="menu"
        role="menu"
        aria-label={label}
        onToggle={(event) => {
          isOpen.value = event.newState === 'open';
        }}
        onKeyDown={onKeyDown}
      >
        {isOpen.value && (
          <Items entries={entries()} onShown={place} onChosen={() => list.current?.hidePopover()} />
        )}
      </div>
    </>
  );
}

interface ItemsProps {
  readonly entries: readonly MenuEntry[];
  readonly onShown: () => void;
  readonly onChosen: () => void;
}

function Items({ entries, onShown, onChosen }: ItemsProps): JSX.Element {
  // They may come after the menu has opened, and others while it is open.
  useLayoutEffect(onShown, [entries.length]);
  return (
    <>
      {entries.map(({ label, icon, run, danger = false }) => (
        <button
          key={label}
          type="button"
          role="menuitem"
          class={danger ? 'danger' : undefined}
          onClick={() => {
            onChosen();
            run();
          }}
        >
          <Icon name={icon} />
          {label}
        </button>
      ))}
    </>
  );
}
