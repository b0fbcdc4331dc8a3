import { byteCount, count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { DatabaseDamage, LostTranscript, StoreMessages } from '../params/params-stores.ts';

const LOST: Readonly<Record<LostTranscript, string>> = {
  gone: 'is missing',
  empty: 'is empty',
  noHeader: 'has lost its header',
  otherSession: 'is the transcript of another session',
};

const KINDS = { link: 'a symbolic link', folder: 'a folder', device: 'a pipe or a device' };

const DAMAGE: Readonly<Record<DatabaseDamage, string>> = {
  gone: 'the file is missing or empty',
  pages: 'its pages are not consistent',
  noVersion: 'it does not contain a schema version',
  otherTables: 'it lacks tables or columns that its schema version has',
};

const OTHER_CURSOR = 'Use a cursor from the same list, with the same sort order, or leave it out.';
const waitOrStop = (id: string): string =>
  `Try again when its turn has ended, or stop the turn: "reprise stop ${id}", POST …/chat/stop.`;

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
    'Its text is deleted, and it cannot be restored from this home. Only a backup from before the purge still contains it.',
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
    'Choose another id. "reprise verify" shows what the file is: to use it, move it out of the home and import it from there.',
  ],
  'session.beingRemoved': ({ id }) => [
    `session ${id} is being purged by another process`,
    'Choose another id, or leave it out: the id of a purged session cannot be used again.',
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
    `this process lost its lease on session ${id}; another process may be writing now`,
    'Try again, or follow the session there. "reprise locks" lists the process that holds it.',
  ],
  'session.leaseHeld': ({ id, pid }) => [`process ${pid} is running session ${id}`, waitOrStop(id)],
  'session.runnerHolds': ({ id }) => [`another process is running session ${id}`, waitOrStop(id)],
  'session.foreignLock': ({ id, file, pid }) => [
    `${pid === null ? 'another tool' : `process ${pid}`} has locked session ${id} with ${file}`,
    'Close that tool, or wait until it is done. If it has crashed, delete the lock file.',
  ],
  'session.busy': ({ id }) => [
    `session ${id} already has a queued or running message`,
    `Wait for its answer, or stop it: "reprise stop ${id}", POST …/chat/stop.`,
  ],
  'session.queueFull': ({ id, waiting }) => [
    `session ${id} has ${counted(waiting, 'queued message')}, the maximum`,
    'Try again when some of them are answered, or raise the cap of the queue.',
  ],
  'session.groupFull': ({ group, max }) => [
    `group ${group} has ${counted(max, 'queued or running message')}, the maximum`,
    'Try again when some of them are done. For subagents of a session, maxChildren of the agent is the maximum.',
  ],
  'append.empty': () => ['an append needs at least one entry', 'Add an entry, or leave out the append.'],
  'entry.badType': ({ type }) => [
    `an entry cannot have the type ${type}`,
    'Use non-empty text other than "session": only the store writes headers.',
  ],
  'entry.hasId': () => [
    'a new entry cannot have an id',
    'Leave the id out. The store assigns it and returns it.',
  ],
  'entry.noBlob': ({ id, blob }) => [
    `an entry refers to blob ${blob}, which session ${id} does not have`,
    'Put the content itself into the entry; the store moves large content into blobs.',
  ],
  'entry.noParent': ({ id, parent }) => [
    `session ${id} has no entry ${parent} to continue from`,
    'Use the id of an entry of this session as parentId.',
  ],
  'input.tooLong': ({ field, length, max }) => [
    `${field} has ${count(length)} characters; at most ${count(max)} are allowed`,
    'Use a shorter one.',
  ],
  'input.tooMany': ({ field, length, max }) => [
    `${field} has ${count(length)} items; at most ${count(max)} are allowed`,
    'Split them over several calls.',
  ],
  'event.tooLarge': ({ maxBytes }) => [
    `an event is larger than ${byteCount(maxBytes)} as JSON`,
    'Publish a smaller event. Store large content as an entry.',
  ],
  'idempotency.notUnicode': () => [
    'the idempotency key of the message, or the name of its source, is not valid Unicode text: it contains half of a surrogate pair',
    'Use valid Unicode, such as a UUID.',
  ],
  'idempotency.missing': () => [
    'a message that is delivered with an append has no idempotency key',
    'Add idempotencyKey to it, so that a retry cannot deliver it twice.',
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
    `Restore ${file} from a copy, or continue in a new session with what can still be read: reprise repair ${id}`,
  ],
  'session.foreignTranscript': ({ id, other }) => [
    `the file of session ${id} is the transcript of another session, ${other}`,
    `Restore the file of ${id} from a copy, or continue in a new session with what can still be read: reprise repair ${id}`,
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
    'Restore a backup, or export the rest: ?lost=preview after …/export, or export({ lost: "preview" }) of the client. It has the beginning of each missing part.',
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
  'blob.notWritten': ({ reason }) => [
    `a large part of a message could not be written: ${reason}`,
    'Check the disk and the permissions of the home, then try again.',
  ],
  'blob.noFolder': ({ folder }) => [
    `${folder} is not a folder, so large parts of messages cannot be stored there`,
    'Move it away, then try again: the store creates the folder.',
  ],
  'inbox.missing': ({ inboxId }) => [
    `no message ${inboxId} in the inbox`,
    'Use the inboxId that was returned when the message was accepted.',
  ],
  'list.badCursor': () => ['the cursor does not belong to this list', OTHER_CURSOR],
  'list.badSort': ({ sort, allowed }) => [
    `this list cannot be sorted by ${sort}`,
    `Use one of ${allowed.join(', ')}.`,
  ],
  'list.badOrder': ({ order }) => [`there is no sort order ${order}`, 'Use asc or desc.'],
  'list.endless': ({ cursor }) => [
    cursor === 'missing'
      ? 'the server sent a page of a list without a cursor'
      : 'the server sent a page of a list with the cursor of an earlier page, so the list would never end',
    'Check that the address is that of a Reprise server of the same version.',
  ],
  'search.badCursor': () => ['the cursor does not belong to this search', OTHER_CURSOR],
  'search.tooLong': ({ characters, max }) => [
    `the search text has ${count(characters)} characters; at most ${count(max)} are allowed`,
    'Search for a part of it.',
  ],
  'store.closed': () => ['the store is closed', 'Open it again.'],
  'store.onlyRead': () => ['the store was opened read-only', 'Open it without "readOnly" to write.'],
  'store.folderReadOnly': ({ folder }) => [
    `${folder} cannot be written, so the store was opened read-only`,
    `Make ${folder} writable (mount, owner, mode, chattr), then try again.`,
  ],
  'store.copyUnfinished': ({ run }) => [
    `a copy into this store is not finished: ${run}`,
    'Run the same "reprise migrate" or "reprise backup restore" again: it resumes where it stopped.',
  ],
  'store.locked': ({ seconds }) => [
    `another process kept the store locked for ${seconds} s`,
    'Try again. "reprise locks" lists the processes that use the store.',
  ],
  'store.logInUse': ({ seconds }) => [
    `another process kept the write-ahead log of the store in use for ${seconds} s`,
    'Try again. "reprise locks" lists the processes that use the store.',
  ],
  'store.missing': ({ file }) => [
    `there is no ${file}`,
    'Check the path. This command only reads, so it does not create a store.',
  ],
  'store.unsettled': ({ file, problem, canWrite }) => [
    problem === 'older'
      ? `${file} was written by an older version, and a command that only reads does not upgrade it`
      : `${file} has unfinished work of a process that was killed, or another process is writing to it`,
    canWrite
      ? problem === 'older'
        ? 'Run "reprise verify" once: before its checks it upgrades the store. Then try again.'
        : 'Try again when the other process is done. If no other process uses it, run "reprise verify" once: before its checks it finishes that work.'
      : `Make the folder of ${file} writable, or copy it to a folder where you can write. Then run "reprise verify" there once.`,
  ],
  'store.damaged': ({ problem, found }) => [
    `the database of the store is damaged: ${DAMAGE[problem]}${found === null ? '' : ` (${found})`}`,
    'Close every process that uses this home, then open it again: what can be read is salvaged.',
  ],
  'store.indexReplaced': ({ times }) => [
    `another program replaced sessions.json ${times} times while it was being written`,
    'Sessions are not affected: the file is only a list for other tools. Try again when that program is done.',
  ],
  'store.networkHome': ({ home }) => [
    `${home} is on a network file system, where the locks of SQLite do not work`,
    'Choose a folder on a local disk. To share a store between machines, use PostgreSQL: --store postgres.',
  ],
  'store.badHome': ({ home, reason }) => [
    `${home} cannot be used as the home: ${reason}`,
    'Choose a folder that you can write to: --home or REPRISE_HOME.',
  ],
  'store.noAccess': ({ home, reason }) => [
    `cannot open ${home}: ${reason}`,
    'Check the path and its permissions.',
  ],
  'store.homeNotFolder': ({ home }) => [
    `${home} is not a folder`,
    'Choose a folder. It is created if it does not exist.',
  ],
  'store.noThreadFile': ({ file }) => [
    `the file ${file}.cjs of the storage threads is missing`,
    'Leave the package reprise out of the bundle, or copy thread.cjs and search-thread.cjs from its folder dist/src/store/sqlite/threads to the folder of the bundle.',
  ],
  'store.notAThread': () => [
    'this file only runs as a worker thread of the store',
    'Open the store with openStore() instead of running this file.',
  ],
  'store.unknownOperation': ({ operation }) => [
    `the storage thread has no operation ${operation}`,
    'Check that all files of Reprise are of the same version: install it again.',
  ],
  'store.notData': ({ operation }) => [
    `an argument of ${operation} is not plain data`,
    'Pass JSON values and Uint8Array only: no functions, promises or class instances.',
  ],
  'store.moved': () => [
    'the files of the store were moved or replaced while it was open',
    'Try again: the store opens the files that are there now.',
  ],
  'store.diverged': ({ copy }) => [
    'another program replaced the files of the store and wrote to them while it was open',
    copy === null
      ? 'Try again: the store opens the files that are there now. What only this process had written could not be saved (details.copyFailed).'
      : `Try again: the store opens the files that are there now. What this process had written is in ${copy}.`,
  ],
  'store.stillOpen': ({ file }) => [
    `another process has ${file} open without its -wal or -shm file`,
    `Wait for that process to end, or end it ("lsof ${file}" names it), then try again.`,
  ],
  'store.newer': ({ schema, known, canRead }) => [
    `the store has schema ${schema}, but this version of Reprise supports at most ${known}: it can${canRead ? ' be read but not written' : 'not be read'}`,
    'Use the version of Reprise that wrote it, or a newer one.',
  ],
  'store.noSpace': ({ freeBytes, minFreeBytes, folder }) => [
    `the disk of the store has ${byteCount(freeBytes)} free; at least ${byteCount(minFreeBytes)} must be free`,
    `Free ${byteCount(minFreeBytes - freeBytes)} on the disk of ${folder ?? 'the store'}. "reprise prune" shows what can be removed.`,
  ],
  'store.failed': ({ problem, message, folder }) => {
    const place = folder ?? 'its folder';
    switch (problem) {
      case 'openFiles':
        return [
          'the store failed: this process has too many open files',
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
        return [`the store failed: ${message}`, 'Try again. "reprise doctor" looks for causes.'];
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
};
