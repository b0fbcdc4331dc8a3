import { alternatives, byteCount, count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { BackupDamage, FileProblem, InteropMessages } from '../params/params-interop.ts';

const ONLY_ZEROCLAW =
  'Databases that can be imported: opencode, OpenClaw 2026.9, ZeroClaw (table session_messages), LangChain, OpenAI Agents SDK.';
const COPY_AGAIN =
  'Stop the program that uses the database and copy it again, or restore it from a backup. Then import it again.';

export const ENGLISH_INTEROP: Pick<MessageTable, keyof InteropMessages> = {
  'export.storeFile': ({ path, home }) => [
    `${path} is a file of the store in ${home}`,
    'Choose a file outside of that folder. --force does not replace files of a store.',
  ],
  'export.folderNotEmpty': ({ path }) => [
    `the folder ${path} is not empty`,
    'Choose a new folder, or add --force to replace the files in it.',
  ],
  'export.fileExists': ({ path }) => [
    `the file ${path} already exists`,
    'Choose another file, or add --force to replace it.',
  ],
  'export.notWritten': ({ path, problem, errno }) => [
    `cannot write ${path}: ${problem === 'diskFull' ? 'the disk is full' : errno}`,
    problem === 'diskFull'
      ? 'Free some space on that disk, then export again.'
      : 'Check that the folder exists and that this user can write to it.',
  ],
  'export.longFolder': ({ folder, max }) => [
    `the path ${folder} has more than ${max} characters`,
    'Choose a folder with a shorter path, or write the file with --out.',
  ],
  'export.notReadBack': ({ file, missing }) => [
    `${file} was written, but reading it back misses ${counted(missing, 'message')}; it was removed`,
    'Please report this with the session: reprise export <ref> --redact.',
  ],
  'export.unknownLayout': ({ layout, known }) => [
    `there is no export layout ${layout}`,
    `Use ${alternatives(known)}.`,
  ],
  'import.notRead': (params) => [
    `cannot read ${fileText(params)}`,
    'Check the path, and that this user can read the file.',
  ],
  'import.changing': ({ path }) => [
    `${path} kept changing while it was copied`,
    'Stop the program that uses this database, then import it again.',
  ],
  'import.unknown': ({ path }) => [
    `${path} contains no files of a known tool`,
    'Name a file or folder of a tool that docs/interop.md lists, or run "reprise import --all".',
  ],
  'import.notTranscript': ({ path, lines }) => [
    lines === 0
      ? `${path} is not a transcript: the file is empty`
      : `${path} is not a transcript: none of its ${counted(lines, 'line')} is a record of a known format`,
    'Name a transcript: JSON objects, one per line. docs/interop.md lists the formats that can be read.',
  ],
  'import.noMessages': ({ path }) => [
    `${path} contains no messages`,
    'Nothing was imported. Check that this is the right file.',
  ],
  'import.noContent': ({ path, messages }) => [
    `${path} contains ${counted(messages, 'message')}, but no text or image that can be read`,
    'It may come from a tool or version that cannot be imported yet. Nothing was imported from it.',
  ],
  'import.ownHome': ({ path }) => [
    `${path} is a Reprise home, not the data of another tool`,
    `To copy its sessions, export them in the OpenClaw layout, which loses nothing that an import can read: reprise export --all --profile clawdbot --out DIR --home ${path}. Then run: reprise import DIR`,
  ],
  'import.ownBackup': ({ path }) => [
    `${path} is a Reprise backup, not a transcript`,
    `Restore it into an empty home: reprise backup restore ${path} --home <empty folder>`,
  ],
  'import.damagedZip': ({ path }) => [`${path} is not a ZIP file that can be unpacked`, COPY_AGAIN],
  'import.zipBomb': ({ path, name, max }) => [
    `${name} in ${path} unpacks to more than ${count(max)} bytes, far more than its packed size`,
    'Nothing was imported from it. Unpack it yourself if you trust it, then import the folder.',
  ],
  'import.damagedDatabase': ({ path, reason }) => [
    `the SQLite database ${path} is damaged (${reason})`,
    COPY_AGAIN,
  ],
  'import.cutDatabase': ({ path, bytes, expected }) => [
    `the SQLite database ${path} is cut off: it has ${count(bytes)} of ${count(expected)} bytes`,
    COPY_AGAIN,
  ],
  'import.missingColumns': ({ path, columns }) => [
    `${path} is not a ZeroClaw database: its table session_messages has no column ${columns.join(', ')}`,
    ONLY_ZEROCLAW,
  ],
  'import.otherDatabase': ({ path, shown, tables }) => [
    `${path} is not a database of a known tool: ${tables === 0 ? 'it has no tables' : `its tables are ${shown.join(', ')}${tables > shown.length ? ` and ${tables - shown.length} more` : ''}`}`,
    ONLY_ZEROCLAW,
  ],
  'backup.notRead': (params) => [`cannot read ${fileText(params)}`, 'Check the path of the backup.'],
  'backup.notBackup': ({ path }) => [
    `${path} is not a Reprise backup`,
    'Name a file that "reprise backup" wrote.',
  ],
  'backup.newer': ({ path, version, known }) => [
    `the backup ${path} has version ${version}, and this Reprise reads version ${known}`,
    'Use the version of Reprise that wrote it, or a newer one.',
  ],
  'backup.tooLong': ({ limit, offset, max }) => [
    `the ${limit} at byte ${count(offset)} is longer than ${byteCount(max)}, which no Reprise backup contains`,
    'Check where the file comes from. Nothing was restored.',
  ],
  'backup.damaged': (params) => [
    `the backup is damaged near byte ${count(params.offset)}: ${backupProblem(params)}`,
    'Use another copy of the file. Nothing was restored from this one.',
  ],
  'migrate.sourceBusy': () => [
    'other processes write to the source store faster than it can be copied',
    'Stop them and run the same command again. It resumes where it stopped.',
  ],
  'migrate.sourceInUse': ({ id, pid }) => [
    `session ${id} of the source store is in use${pid === null ? '' : ` by process ${pid}`}`,
    'Stop the process ("reprise locks" lists all), then run the same command again.',
  ],
  'migrate.sourceUnfinished': ({ run }) => [
    `the source store is itself an unfinished copy: ${run}`,
    'Finish that copy first: run its command again.',
  ],
  'migrate.targetUsed': ({ run, finished }) => [
    run === null
      ? 'the target store already contains sessions'
      : `the target store contains ${finished ? 'another copy' : 'another, unfinished copy'}: ${run}`,
    'Choose an empty folder or database. Nothing was changed.',
  ],
  'migrate.diverged': () => [
    'this migration was finished earlier, and the two stores have changed differently since then',
    'Use one of the two. To copy again, choose an empty folder or database.',
  ],
};

function fileText({
  path,
  problem,
  errno,
}: {
  readonly path: string;
  readonly problem: FileProblem;
  readonly errno: string | null;
}): string {
  const reasons: Readonly<Record<FileProblem, string>> = {
    missing: 'it does not exist',
    notFile: 'it is not a regular file',
    link: 'it is a symbolic link',
    diskFull: 'the disk is full',
    other: errno ?? 'unknown reason',
  };
  return `${path}: ${reasons[problem]}`;
}

function backupProblem({ problem, record, field, session, line, found, expected }: BackupDamage): string {
  switch (problem) {
    case 'notJson':
      return 'a line is not a JSON object';
    case 'noTime':
      return 'its first line does not say when it was made';
    case 'unknownRecord':
      return `there is no kind of record ${record}`;
    case 'wrongField':
      return `a record of kind ${record} has no valid "${field}"`;
    case 'noLines':
      return `the lines of session ${session} have no valid count`;
    case 'noBlobBytes':
      return `a blob of session ${session} has no bytes`;
    case 'otherBlobBytes':
      return `a blob of session ${session} does not match its hash`;
    case 'brokenLine':
      return `line ${line} of session ${session} does not match its seal`;
    case 'recordCount':
      return `it has ${counted(found ?? 0, 'record')} instead of ${count(expected ?? 0)}`;
    case 'otherBytes':
      return 'its content does not match its checksum';
    case 'endsEarly':
      return 'the end is missing';
    case 'endsInLine':
      return 'it ends in the middle of a line';
    case 'endsInSession':
      return 'it ends in the middle of a session';
    case 'afterEnd':
      return 'there is data after its end';
  }
}
