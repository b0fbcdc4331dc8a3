import type { MessageTable } from '../message.ts';
import type { CopyMessages } from '../params/params-stores.ts';

export const ENGLISH_COPIES: Pick<MessageTable, keyof CopyMessages> = {
  'copy.notEmpty': () => [
    'the target of a copy must be empty, and this store has sessions',
    'Choose an empty home or database.',
  ],
  'copy.otherRun': ({ run }) => [
    run === null
      ? 'this store has no unfinished copy to complete'
      : `this store is the target of another copy: ${run}`,
    run === null
      ? 'Run the command that copies again: "reprise migrate" or "reprise backup restore".'
      : 'Choose an empty home or database.',
  ],
  'copy.badCursor': () => [
    'the cursor does not belong to a copy of this store',
    'Use the cursor that came with the last records, or leave it out to start again.',
  ],
  'copy.badRecord': (record) => [
    `the data of this copy is not valid: ${copyProblem(record)}`,
    'Check the source with "reprise verify", then copy it again into an empty store.',
  ],
  'copy.lineChanged': ({ id, line }) => [
    `line ${line} of session ${id} does not match its checksum (seal)`,
    'Check the source with "reprise verify", then copy it again into an empty store.',
  ],
  'copy.blobChanged': ({ id, blob }) => [
    `the bytes of blob ${blob} of session ${id} do not match its hash`,
    'Check the source with "reprise verify", then copy it again into an empty store.',
  ],
  'copy.notUtf8': ({ id, line }) => [
    `line ${line} of session ${id} is not valid UTF-8, which a PostgreSQL store requires`,
    'Copy this session to a jsonl or sqlite store instead.',
  ],
  'copy.notRead': ({ id }) => [
    `the file of session ${id} has lines that the index does not contain yet`,
    'Run "reprise verify" on the source once, which reads them. Then copy again.',
  ],
  'copy.openTransaction': ({ seconds }) => [
    `another connection has been writing a message to the source for more than ${seconds} s`,
    'Find its transaction in pg_stat_activity and end it. Then copy again.',
  ],
  'export.stopped': ({ id }) => [
    `the export of session ${id} was stopped because its reader disconnected`,
    'Export it again.',
  ],
};

function copyProblem(record: CopyMessages['copy.badRecord']): string {
  switch (record.problem) {
    case 'noRecord':
      return `it has lines of session ${record.id} before the session itself`;
    case 'idTaken':
      return `it has two sessions with the id ${record.id}`;
    case 'noLineEnd':
      return `line ${record.line} of session ${record.id} is not complete`;
    case 'noEntry':
      return `line ${record.line} of session ${record.id} is not an entry`;
    case 'unknownKind':
      return `it has a record of the unknown kind ${record.kind}`;
  }
}
