import { MENUS } from './menu-entries.ts';
import { readPictures } from './read-pictures.ts';
import {
  redoStep,
  restoreSession,
  runCommand,
  sayLastAgain,
  showSummary,
  switchBranch,
  undoCompaction,
} from './steps.ts';

/**
 * What is loaded right behind the first picture, by one door that nobody else goes through. A file that is imported both
 * ways needs an object for its names, and the bundler keeps what makes those beside the largest of all later parts.
 */
export { MENUS };
export const STEPS = {
  readPictures,
  redoStep,
  restoreSession,
  runCommand,
  sayLastAgain,
  showSummary,
  switchBranch,
  undoCompaction,
} as const;
