/** Complete, and about to take the place of the damaged one. */
export const salvagedName = (path: string): string => `${path}.salvaged`;

/** Left by whoever met damage, until somebody has looked at every page. */
export const noteName = (path: string): string => `${path}.damaged`;
