import { attempt } from '../api/api.ts';
import { conversation } from '../conversation/open-conversations.ts';
import { sessions } from '../sidebar/sessions.ts';
import { dialog } from './dialogs.ts';
import { formatRoute, go, route } from './route.ts';
import { isListOpen } from './shell-state.ts';

/** Keys that work everywhere; those of a field are its own. */
export function listenToKeys(): () => void {
  addEventListener('keydown', onKey);
  addEventListener('pointerdown', onPoint);
  return () => {
    removeEventListener('keydown', onKey);
    removeEventListener('pointerdown', onPoint);
  };
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const { key, altKey } = event;
  const isCommand = event.ctrlKey || event.metaKey;
  if (isCommand && key.toLowerCase() === 'k') {
    event.preventDefault();
    dialog.value = { kind: 'search' };
  } else if (dialog.value !== undefined) return;
  else if (altKey && key.toLowerCase() === 'n') {
    event.preventDefault();
    go({ view: 'new' });
  } else if (altKey && (key === 'ArrowDown' || key === 'ArrowUp')) {
    event.preventDefault();
    step(key === 'ArrowDown' ? 1 : -1);
  } else if (key === 'Escape') {
    // Held down, the first press may have closed something.
    if (!event.repeat && !isForSomethingElse(event.target)) stop();
  } else if (!isCommand && !altKey && !isTyping(event.target)) {
    if (key === '?') dialog.value = { kind: 'keys' };
    else if (key === '/') {
      event.preventDefault();
      document.querySelector<HTMLInputElement>('#filter')?.focus();
    }
  }
}

/** Small panels close like menus do. */
const PANELS = 'details.context[open], details.facets[open]';

function onPoint({ target }: PointerEvent): void {
  for (const panel of document.querySelectorAll<HTMLDetailsElement>(PANELS))
    if (!(target instanceof Node) || !panel.contains(target)) panel.open = false;
}

function closePanels(): boolean {
  const panels = [...document.querySelectorAll<HTMLDetailsElement>(PANELS)];
  for (const panel of panels) panel.open = false;
  return panels.length > 0;
}

/** The browser closes a menu and empties a search field, but only after this event. */
function isForSomethingElse(target: EventTarget | null): boolean {
  const isSearch = target instanceof HTMLInputElement && target.type === 'search' && target.value !== '';
  return isSearch || document.querySelector(':popover-open, dialog[open]') !== null;
}

/** Escape closes the topmost element. Only where nothing is open it stops the answer. */
function stop(): void {
  if (closePanels()) return;
  if (isListOpen.value) {
    isListOpen.value = false;
    return;
  }
  const current = conversation.value;
  if (current?.live.value !== undefined) void attempt(() => current.stop());
}

function step(by: number): void {
  const list = sessions.value;
  const at = route.value;
  const here = at.view === 'session' ? list.findIndex(({ id }) => id === at.sessionId) : -1;
  const next = list[Math.max(0, Math.min(list.length - 1, here + by))];
  if (next === undefined) return;
  location.hash = formatRoute({ view: 'session', agentId: next.agentId, sessionId: next.id });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}
