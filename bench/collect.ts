import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Clears memory, so that what is left is what is held. */
export const collect: () => void = runInNewContext('gc') as () => void;
