import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

export interface MenuEntry {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
  /** Smaller, after the label. */
  readonly note?: string;
  readonly isChosen?: boolean;
}

export interface MenuProps {
  readonly label: string;
  /** Asked for while it is open. */
  readonly entries: () => readonly MenuEntry[];
  readonly icon?: IconName;
  /** Shown on the button instead of an icon alone. */
  readonly text?: string;
  readonly onOpen?: () => void;
}

/** A popover of the browser: above everything, closed by Escape or a click elsewhere. */
export function Menu({ label, entries, icon = 'more', text, onOpen }: MenuProps): JSX.Element {
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
        class={text === undefined ? 'quiet small' : 'quiet small chip'}
        aria-label={text === undefined ? label : `${label}: ${text}`}
        title={label}
        popovertarget={id}
        aria-haspopup="menu"
      >
        {text === undefined ? (
          <Icon name={icon} />
        ) : (
          <>
            <span class="short">{text}</span>
            <Icon name="expand" />
          </>
        )}
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
          if (isOpen.value) onOpen?.();
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
      {entries.map(({ label, icon, run, danger = false, note, isChosen }) => (
        <button
          key={label}
          type="button"
          role={isChosen === undefined ? 'menuitem' : 'menuitemradio'}
          aria-checked={isChosen}
          class={danger ? 'danger' : undefined}
          onClick={() => {
            onChosen();
            run();
          }}
        >
          <Icon name={isChosen === true ? 'check' : icon} />
          <span>{label}</span>
          {note !== undefined && <span class="notes">{note}</span>}
        </button>
      ))}
    </>
  );
}
