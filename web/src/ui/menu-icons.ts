/** Lines on a grid of 24, of what only menus offer. */
export const MENU_ICONS = {
  fork: 'M6 4v6a4 4 0 0 0 4 4h8M14 10l4 4-4 4',
  edit: 'M4 20h4L19 9l-4-4L4 16z',
  retry: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  eye: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7-10-7-10-7zM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6z',
  link: 'M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1',
  tree: 'M6 4v16M6 8h8a3 3 0 0 1 3 3v9',
  keys: 'M3 7h18v10H3zM7 11h.01M12 11h.01M17 11h.01M8 14h8',
  out: 'M10 4H5v16h5M14 8l5 4-5 4M19 12H9',
} as const;
