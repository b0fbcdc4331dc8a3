import { type ReadonlySignal, signal } from '@preact/signals';

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'info' | 'error';
  readonly action?: { readonly label: string; readonly run: () => void } | undefined;
}

const list = signal<readonly Toast[]>([]);
export const toasts: ReadonlySignal<readonly Toast[]> = list;
let lastId = 0;

const SHOWN_MS = 8000;
const HELD = '.toasts:is(:hover,:focus-within)';

export function say(
  text: string,
  { kind = 'info', action }: { readonly kind?: Toast['kind']; readonly action?: Toast['action'] } = {},
): number {
  const id = ++lastId;
  list.value = [...list.value.slice(-3), { id, text, kind, action }];
  const leave = (): void => {
    // The pointer or the focus is on it, so the user is reading it or about to use its button.
    if (globalThis.document?.querySelector(HELD) == null) dismiss(id);
    else setTimeout(leave, 1000);
  };
  setTimeout(leave, kind === 'error' ? SHOWN_MS * 2 : SHOWN_MS);
  return id;
}

export function dismiss(id: number): void {
  list.value = list.value.filter((toast) => toast.id !== id);
}
