import { byteCount, count, counted } from './english-format.ts';
import { POSTGRES_PROBLEMS } from './english-postgres.ts';
import type { MessageTable } from './message.ts';
import type { LostTranscript, StoreMessages } from './params-stores.ts';

const LOST: Readonly<Record<LostTranscript, string>> = {
  gone: 'is missing',
  empty: 'is empty',
  noHeader: 'has lost its header',
  otherSession: 'is the transcript of another session',
};

const KINDS = { link: 'a symbolic link', folder: 'a folder', device: 'a pipe or a device' };

const OTHER_CURSOR = 'Use a cursor from the same list, with the same sort order, or leave it out.';
const WAIT_OR_STOP =
  'Try again later. "reprise locks" names the process; "reprise stop" and POST …/chat/stop end the turn.';

export const ENGLISH_STORES: Pick<MessageTable, keyof StoreMessages> = {
  'session.unknown': ({ id }) => [`no session ${id}`],
  'session.trashed': ({ id }) => [
    `session ${id} is in the trash`,
    `Restore it first: "reprise restore ${id}", or POST …/restore.`,
  ],
  'session.notTrashed': ({ id }) => [
    `session ${id} is not in the trash`,
    'Delete it first: only deleted sessions can be purged.',
  ],
  'session.purged': ({ id }) => [
    `session ${id} was purged`,
    'It cannot be restored. A backup from before the purge still contains it.',
  ],
  'session.idPurged': ({ id }) => [
    `session ${id} was purged, and its id cannot be used again`,
    'Choose another id, or leave it out.',
  ],
  'session.notErased': ({ id, cause }) => [
    `session ${id} was purged, but its text could not be removed from the disk yet (${cause})`,
    'The store tries again every 10 s, and when it is opened next.',
  ],
  'session.keyTaken': ({ id, key }) => [
    `session ${id} exists with another key, ${key}`,
    'Choose another id, or use that key.',
  ],
  'session.keyMismatch': ({ id, key }) => [
    `session ${id} belongs to the key ${key}`,
    'Use that key, or leave the session id out.',
  ],
  'session.resetExists': ({ id }) => [
    `a reset creates a new session, but session ${id} exists already`,
    'Choose another id, or leave it out.',
  ],
  'session.fileTaken': ({ id, file }) => [
    `${file} in the home is not the transcript of session ${id}`,
    'Run "reprise verify" to see what the file is. Import it, move it away, or choose another id.',
  ],
  'session.changed': () => [
    'the session has changed since it was read',
    'Read it again, then repeat the change.',
  ],
  'session.leafMoved': ({ id }) => [
    `another message or branch was added to session ${id} since it was read`,
    'Read the session again, then repeat the change.',
  ],
  'session.fenced': ({ id }) => [
    `this process lost its lease on session ${id}, and another process may write now`,
    'Follow the session there, or try again. "reprise locks" names its process id.',
  ],
  'session.leaseHeld': ({ id, pid }) => [`process ${pid} is running session ${id}`, WAIT_OR_STOP],
  'session.runnerHolds': ({ id }) => [`another runner holds session ${id}`, WAIT_OR_STOP],
  'session.foreignLock': ({ id, file, pid }) => [
    `${pid === null ? 'another tool' : `process ${pid}`} has locked session ${id} with ${file}`,
    'Close that tool, or wait until it is done. If it has crashed, delete the lock file.',
  ],
  'session.busy': ({ id }) => [
    `session ${id} already has a queued or running message`,
    'Wait for its answer, or stop it: "reprise stop", POST …/chat/stop.',
  ],
  'session.queueFull': ({ id, waiting }) => [
    `session ${id} has ${counted(waiting, 'queued message')}, the maximum`,
    'Try again when some of them are answered, or raise the cap of the queue.',
  ],
  'session.groupFull': ({ group, max }) => [
    `group ${group} has ${counted(max, 'queued or running message')}, the maximum`,
    'Try again when some of them are done.',
  ],
  'session.appendKeyReused': ({ key }) => [
    `the idempotency key ${key} was used for another append`,
    'Use a new key for each new append.',
  ],
  'session.messageKeyReused': ({ key }) => [
    `the idempotency key ${key} was used for another message`,
    'Use a new key for each new message.',
  ],
  'session.notRead': ({ id }) => [
    `the transcript of session ${id} is still being read after the start of the store`,
    'Try again in a moment.',
  ],
  'session.damaged': ({ id, offset }) => [
    `session ${id} is damaged at byte ${offset}`,
    `Run "reprise repair ${id}", or /repair in a chat. It continues with the readable part in a new session.`,
  ],
  'session.damagedHeader': ({ id }) => [
    `session ${id} exists, but the header of its transcript is damaged`,
    `Run: reprise repair ${id}. It continues with the readable part in a new session.`,
  ],
  'session.lostTranscript': ({ id, file, problem }) => [
    `the transcript of session ${id} ${LOST[problem]}`,
    `Restore ${file} from a copy, or continue without it: reprise repair ${id}`,
  ],
  'session.foreignTranscript': ({ id, other }) => [
    `the file of session ${id} is the transcript of another session, ${other}`,
    `Restore the file of ${id} from a copy, or continue without it: reprise repair ${id}`,
  ],
  'session.notAFile': ({ id, file, kind }) => [
    `the transcript of session ${id} is ${KINDS[kind]}, not a file`,
    `Move ${file} away. Nothing was written through it.`,
  ],
  'session.unreadable': ({ id, reason }) => [
    `the transcript of session ${id} cannot be read: ${reason}`,
    'Check the disk and the permissions of the file, then try again.',
  ],
  'session.lostParts': ({ id, parts }) => [
    `${counted(parts, 'large part')} of session ${id} ${parts === 1 ? 'is' : 'are'} missing or damaged`,
    'Restore a backup, or export the rest: with lost=preview the export has the beginning of each missing part.',
  ],
  'session.exportDamaged': ({ id, line }) => [
    `session ${id} is damaged after line ${line}`,
    'Export it again: the next export contains everything that can be read.',
  ],
  'session.exportGone': ({ id }) => [
    `the transcript of session ${id} is missing`,
    'Restore its file from a copy, or restore a backup into another home.',
  ],
  'session.locked': ({ id }) => [
    `session ${id} is locked by another process, or the database server does not answer`,
    'Try again.',
  ],
  'blob.missing': ({ id, blob }) => [
    `session ${id} has no blob ${blob}`,
    'GET …/export lists the blobs of the session.',
  ],
  'blob.damaged': ({ id, blob }) => [`blob ${blob} of session ${id} is damaged`, 'Restore it from a backup.'],
  'blob.notWritten': ({ problem }) => [
    `a large part of a message could not be written: ${problem}`,
    'Check the disk and the permissions of the home, then try again.',
  ],
  'inbox.missing': ({ inboxId }) => [
    `no message ${inboxId} in the inbox`,
    'Use the inboxId that was returned when the message was accepted.',
  ],
  'list.badCursor': () => ['the cursor does not belong to this list', OTHER_CURSOR],
  'list.badSort': ({ sort, allowed }) => [
    `sessions cannot be sorted by "${sort}"`,
    `Use one of ${allowed.join(', ')}.`,
  ],
  'list.badOrder': ({ order }) => [`there is no sort order "${order}"`, 'Use asc or desc.'],
  'search.badCursor': () => ['the cursor does not belong to this search', OTHER_CURSOR],
  'search.tooLong': ({ characters, max }) => [
    `the search text has ${count(characters)} characters; at most ${count(max)} are allowed`,
    'Search for a part of it.',
  ],
  'store.closed': () => ['the store is closed', 'Open it again.'],
  'store.onlyRead': () => ['the store was opened read-only', 'Open it without "readOnly" to write to it.'],
  'store.folderReadOnly': ({ folder }) => [
    `${folder} cannot be written, so the store was opened read-only`,
    `Make ${folder} writable (mount, owner, mode, chattr), then try again.`,
  ],
  'store.copyUnfinished': ({ run }) => [
    `a copy into this store is not finished: ${run}`,
    'Run the command that copies again: it resumes where it stopped.',
  ],
  'store.locked': ({ seconds }) => [
    `another process kept the store locked for ${seconds} s`,
    'Try again. "reprise locks" lists the processes that use the store.',
  ],
  'store.moved': () => [
    'the files of the store were moved or replaced while it was open',
    'Try again: the store opens the files that are there now.',
  ],
  'store.stillOpen': ({ file }) => [
    `another process has ${file} open without its -wal or -shm file`,
    `Wait for that process to end, or end it ("lsof ${file}" names it), then try again.`,
  ],
  'store.newer': ({ schema, known, canRead }) => [
    `control.db has schema ${schema}, and this version knows ${known}: it can${canRead ? ' be read, but not written' : 'not be read'}`,
    'Use the version of Reprise that wrote it, or a newer one.',
  ],
  'store.noSpace': ({ freeBytes, minFreeBytes, folder }) => [
    `the disk of the store has ${byteCount(freeBytes)} free, and needs ${byteCount(minFreeBytes)}`,
    `Free ${byteCount(minFreeBytes - freeBytes)} on the disk of ${folder ?? 'the store'}. "reprise prune" shows what can be removed.`,
  ],
  'store.failed': ({ problem, message, folder }) => {
    const place = folder ?? 'its folder';
    switch (problem) {
      case 'openFiles':
        return [
          'the store failed: too many open files',
          'Raise the limit of open files (ulimit -n), or close some. Then try again; no restart is needed.',
        ];
      case 'readOnly':
        return [
          `the store failed: ${message}`,
          `Make ${place} writable (mount, owner, mode, chattr). Then try again; no restart is needed.`,
        ];
      case 'corrupt':
        return [
          `the store failed: ${message}`,
          'Close every process that uses this home, then open it again: what can be read is salvaged.',
        ];
      case 'full':
        return [
          `the store failed: ${message}`,
          `Free some space on the disk of ${place}, then try again. "reprise prune" shows what can be removed.`,
        ];
      default:
        return [`the store failed: ${message}`];
    }
  },
  'store.threadDied': () => [
    'the storage thread stopped unexpectedly',
    'Try again: a new thread was started.',
  ],
  'store.threadsDied': ({ times, seconds }) => [
    `the storage thread stopped unexpectedly ${times} times within ${seconds} s of work`,
    'Close the store, find the cause (details.error), and open it again.',
  ],
  'store.memoryLost': () => [
    'the storage thread stopped unexpectedly, and the sessions of this in-memory store are lost',
    'Open a new store. To keep sessions, use a store on disk.',
  ],
  'postgres.failed': ({ problem, message }) => {
    const [what, next] = POSTGRES_PROBLEMS[problem];
    const text = `the PostgreSQL store failed: ${what}${message === null ? '' : ` (${message})`}`;
    return next === undefined ? [text] : [text, next];
  },
  'postgres.newer': ({ schema, known }) => [
    `the database has schema ${schema}, and this version knows ${known}: a newer version wrote it`,
    'Update Reprise on this machine.',
  ],
  'postgres.older': ({ schema, known }) => [
    `the database has schema ${schema}, and this version needs ${known}; a read-only store does not migrate it`,
    'Run "reprise verify" on it once, which migrates it, or use the version of Reprise that wrote it.',
  ],
  'postgres.noStore': () => [
    'this database contains no store',
    'Check the store URL: a store that is only read is never created.',
  ],
  'postgres.tooOld': ({ version }) => [
    `the PostgreSQL server has version ${Math.trunc(version / 10_000)}, which is too old`,
    'Use PostgreSQL 14 or newer.',
  ],
  'postgres.encoding': ({ encoding }) => [
    `the database has the encoding ${encoding}, and a store needs UTF8`,
    "Create the database with: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
  ],
  'postgres.replica': () => [
    'the database server is a replica and cannot be written',
    'Change the store URL to the primary.',
  ],
};
