import { type ComponentChildren, type JSX, options } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Layout, layOut, rangeIn, rowAt } from './virtual-range.ts';

export interface VirtualListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  readonly render: (item: T) => ComponentChildren;
  /** The estimated height of a row that was not measured. */
  readonly guess: (item: T) => number;
  /** When it changes, the list starts again at its end. */
  readonly resetKey: string;
  /** If the list is scrolled to its end, it stays there when rows are added. */
  readonly sticksToEnd?: boolean;
  /** The row to scroll to, once. */
  readonly wanted?: string | undefined;
  readonly onWantedShown?: () => void;
  readonly onNearStart?: () => void;
  readonly onNearEnd?: () => void;
  readonly onAtEnd?: (isAtEnd: boolean) => void;
  readonly label: string;
  readonly class?: string;
  readonly role?: 'log' | 'list';
  readonly handle?: { current: { toEnd(): void } | null };
}

const OVERSCAN = 800;
const NEAR = 1200;
const AT_END = 48;

/**
 * Renders only the visible rows. Row heights vary; the visible content stays in place while rows around it are
 * measured, loaded or added, and only the user scrolls it.
 */
export function VirtualList<T>(props: VirtualListProps<T>): JSX.Element {
  const { items, keyOf, render, guess, resetKey, sticksToEnd = false, label, wanted } = props;
  const box = useRef<HTMLDivElement>(null);
  const measured = useRef(0);
  const heights = useRef(new Map<string, number>());
  const sticks = useRef(sticksToEnd);
  /** The row at the top edge, and its offset. */
  const anchor = useRef<{ readonly key: string; readonly offset: number } | undefined>(undefined);
  const lastTop = useRef(0);
  const [, redraw] = useState(0);
  const layout = useMemo(
    () =>
      layOut(items.length, (i) => {
        const item = items[i] as T;
        return heights.current.get(keyOf(item)) ?? guess(item);
      }),
    [items, measured.current],
  );
  const latest = useRef({ layout, items, props });
  latest.current = { layout, items, props };
  const { scrollTop = 0, clientHeight = 800 } = box.current ?? {};
  const held = anchor.current;
  const heldAt = held === undefined ? -1 : items.findIndex((item) => keyOf(item) === held.key);
  /** How much the rows above the visible ones grew. Applied in the same render, so that the rows and the focus stay. */
  const shift = held === undefined || heldAt === -1 ? 0 : (layout.offsets[heldAt] ?? 0) - held.offset;
  const top = sticks.current && box.current !== null ? total(layout) - clientHeight : scrollTop + shift;
  const isPrinted = useIsPrinted();
  const { start, end } = isPrinted
    ? { start: 0, end: items.length }
    : rangeIn(layout, top, clientHeight, OVERSCAN);
  const observer = useRowSizes(heights, () => {
    measured.current++;
    redraw((n) => n + 1);
  });

  useLayoutEffect(() => {
    sticks.current = sticksToEnd;
    anchor.current = undefined;
    if (!sticksToEnd && box.current !== null) box.current.scrollTop = 0;
    redraw((n) => n + 1);
  }, [resetKey]);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    if (wanted !== undefined) {
      const at = items.findIndex((item) => keyOf(item) === wanted);
      if (at !== -1) {
        const offset = layout.offsets[at] ?? 0;
        sticks.current = false;
        anchor.current = { key: wanted, offset };
        element.scrollTop = offset - Math.min(120, clientHeight / 4);
        props.onWantedShown?.();
      }
    }
    if (sticks.current) {
      const end = element.scrollHeight - element.clientHeight;
      if (Math.abs(element.scrollTop - end) > 1) element.scrollTop = end;
    } else if (held !== undefined && held === anchor.current && Math.abs(shift) >= 0.5) {
      // Compensates for rows that grew above; nothing else moves the scroll position.
      element.scrollTop += shift;
      anchor.current = { ...held, offset: held.offset + shift };
    }
    lastTop.current = element.scrollTop;
  });

  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    const { layout: now, items: rows, props: current } = latest.current;
    const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (sticksToEnd) {
      // Scrolling up stops following the end at once, even if slow.
      const isUp = element.scrollTop < lastTop.current - 0.5 && rest > 1;
      sticks.current = isUp ? false : sticks.current || rest <= AT_END;
      current.onAtEnd?.(sticks.current || rest <= AT_END);
    }
    lastTop.current = element.scrollTop;
    const at = rowAt(now, element.scrollTop);
    const item = rows[at];
    if (item !== undefined) anchor.current = { key: keyOf(item), offset: now.offsets[at] ?? 0 };
    if (element.scrollTop < NEAR) current.onNearStart?.();
    if (rest < NEAR) current.onNearEnd?.();
    redraw((n) => n + 1);
  };

  useLayoutEffect(() => {
    if (props.handle === undefined) return;
    props.handle.current = {
      toEnd: () => {
        sticks.current = true;
        anchor.current = undefined;
        redraw((n) => n + 1);
        props.onAtEnd?.(true);
      },
    };
  });

  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    // Keep the end visible when the window is resized.
    const sizes = new ResizeObserver(() => redraw((n) => n + 1));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);

  useEffect(() => {
    const element = box.current;
    if (element === null || items.length === 0) return;
    const { scrollHeight, scrollTop: at, clientHeight: height } = element;
    if (at < NEAR && !sticks.current) props.onNearStart?.();
    if (scrollHeight - at - height < NEAR) props.onNearEnd?.();
  }, [items.length, resetKey]);

  return (
    <div
      ref={box}
      class={`scroll ${props.class ?? ''}`}
      onScroll={onScroll}
      tabIndex={0}
      role={props.role ?? 'list'}
      aria-label={label}
      aria-live="off"
    >
      <div style={{ height: `${layout.offsets[start] ?? 0}px` }} aria-hidden="true" />
      {items.slice(start, end).map((item) => (
        <Row key={keyOf(item)} id={keyOf(item)} observer={observer}>
          {render(item)}
        </Row>
      ))}
      <div style={{ height: `${total(layout) - (layout.offsets[end] ?? 0)}px` }} aria-hidden="true" />
    </div>
  );
}

/** A printed page cannot scroll, so all rows are rendered before printing. */
function useIsPrinted(): boolean {
  const [is, set] = useState(false);
  useEffect(() => {
    const change = ({ type }: Event): void => {
      const { debounceRendering } = options;
      options.debounceRendering = (draw) => draw();
      set(type === 'beforeprint');
      options.debounceRendering = debounceRendering as typeof options.debounceRendering & {};
    };
    addEventListener('beforeprint', change);
    addEventListener('afterprint', change);
    return () => {
      removeEventListener('beforeprint', change);
      removeEventListener('afterprint', change);
    };
  }, []);
  return is;
}

function total({ offsets }: Layout): number {
  return offsets[offsets.length - 1] ?? 0;
}

interface RowProps {
  readonly id: string;
  readonly observer: ResizeObserver;
  readonly children: ComponentChildren;
}

const ids = new WeakMap<Element, string>();

function Row({ id, observer, children }: RowProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    ids.set(element, id);
    observer.observe(element);
    return () => observer.unobserve(element);
  }, [id, observer]);
  return (
    <div ref={place} class="row" data-key={id}>
      {children}
    </div>
  );
}

/** One observer for all rows; several changes in one frame cause one render. */
function useRowSizes(
  heights: { readonly current: Map<string, number> },
  onChange: () => void,
): ResizeObserver {
  const changed = useRef(onChange);
  changed.current = onChange;
  const observer = useRef<ResizeObserver | undefined>(undefined);
  observer.current ??= new ResizeObserver((entries) => {
    let isNew = false;
    for (const { target } of entries) {
      const key = ids.get(target);
      const height = (target as HTMLElement).offsetHeight;
      if (key === undefined || height === 0 || heights.current.get(key) === height) continue;
      heights.current.set(key, height);
      isNew = true;
    }
    if (isNew) changed.current();
  });
  useEffect(() => () => observer.current?.disconnect(), []);
  return observer.current;
}
