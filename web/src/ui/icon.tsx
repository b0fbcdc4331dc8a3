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
  fork: 'M6 4v6a4 4 0 0 0 4 4h8M14 10l4 4-4 4',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  tree: 'M6 4v16M6 8h8a3 3 0 0 1 3 3v9',
  keys: 'M3 7h18v10H3zM7 11h.01M12 11h.01M17 11h.01M8 14h8',
  expand: 'M7 10l5 5 5-5',
  blank: 'M0 0',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2',
  out: 'M10 4H5v16h5M14 8l5 4-5 4M19 12H9',
} as const;

export type IconName = keyof typeof PATHS;

/** The mark of the product: an arrow that returns, around a point. */
export function Logo(): JSX.Element {
  return (
    <svg class="icon logo" viewBox="0 0 24 24" aria-hidden="true">
      <path d="M5 8a8 8 0 1 1-1 6M5 3v5h5" />
      <circle cx="12" cy="12" r="2.2" />
    </svg>
  );
}

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
