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

export function say(
  text: string,
  { kind = 'info', action }: { readonly kind?: Toast['kind']; readonly action?: Toast['action'] } = {},
): number {
  const id = ++lastId;
  list.value = [...list.value.slice(-3), { id, text, kind, action }];
  setTimeout(() => dismiss(id), kind === 'error' ? SHOWN_MS * 2 : SHOWN_MS);
  return id;
}

export function dismiss(id: number): void {
  list.value = list.value.filter((toast) => toast.id !== id);
}
