import { resolve } from 'node:path';

/** Always the same names: what Vitest keeps of a transformed module from one run to the next must stay true. */
export const BUNDLED: string = resolve('node_modules/.cache/reprise');
export const PACKAGE: string = `${BUNDLED}/package`;

/** `reprise` as users have it once it is installed; programs that are no tests run the checkout's, which is never old. */
export const COMMAND: string =
  process.env['VITEST'] === undefined ? resolve('bin/reprise.cjs') : `${PACKAGE}/bin/reprise.cjs`;
