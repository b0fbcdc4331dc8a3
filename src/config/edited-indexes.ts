import { asideIn } from '../store/sqlite/sessions-json-file.ts';

export { findEditedIndexes } from '../store/sqlite/sessions-json-file.ts';

/** What the owner of a home can do about a `sessions.json` that something else has changed. */
export function editedIndexText(file: string): string {
  return (
    `${file} is a sessions.json with changes that Reprise did not make. Reprise writes that file and never reads it. ` +
    `${nextStepsOf(file)} Then remove the file.`
  );
}

/** An import adds sessions and never renames one that is here, because it may have been renamed here later. */
export function nextStepsOf(file: string): string {
  return `To add sessions that only it lists: ${importCommand(file)}. To rename one: reprise rename <ref> <label>.`;
}

function importCommand(file: string): string {
  return `reprise import '${file.replaceAll("'", "'\\''")}'`;
}

/** One text for each file that was moved aside and is still there. */
export function editedIndexWarnings(home: string): string[] {
  return asideIn(home).map(editedIndexText);
}

export function emitWarning(warning: string): void {
  process.emitWarning(warning, 'RepriseWarning');
}
