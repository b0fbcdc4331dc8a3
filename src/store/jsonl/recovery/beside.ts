/** A complete database that is about to replace the damaged one. */
export const salvagedName = (path: string): string => `${path}.salvaged`;

/** Created by a process that found damage; it stays until a process has checked every page. */
export const noteName = (path: string): string => `${path}.damaged`;
