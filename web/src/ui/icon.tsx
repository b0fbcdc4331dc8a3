import type { JSX } from 'preact';

/** Lines on a grid of 24. */
const PATHS = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  plus: 'M12 5v14M5 12h14',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM20 20l-4-4',
  send: 'M5 12h13M12 5l7 7-7 7',
  stop: 'M7 7h10v10H7z',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M9 9h.01',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  check: 'M5 12l5 5L20 7',
  more: 'M4.4 12h1.2M11.4 12h1.2M18.4 12h1.2',
  close: 'M6 6l12 12M18 6L6 18',
  down: 'M12 5v14M6 13l6 6 6-6',
  chevron: 'M9 6l6 6-6 6',
  undo: 'M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  pin: 'M12 17v5M7 4h10l-1 7 3 3H5l3-3z',
  tool: 'M14 6a4 4 0 0 1 5 5l-9 9-4-4 9-9z',
  fold: 'M4 12h16M8 8l4-4 4 4M8 16l4 4 4-4',
  filter: 'M4 6h16M7 12h10M10 18h4',
  chats: 'M4 5h12v9H9l-5 4zM19 9h1v11l-4-3h-6',
  stats: 'M5 20V10M12 20V4M19 20v-7',
} as const;

/** By name, or drawn elsewhere: what only menus show comes with them. */
export type IconName = keyof typeof PATHS | `M${string}`;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name as keyof typeof PATHS] ?? name} />
    </svg>
  );
}
