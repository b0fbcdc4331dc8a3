import { checkBackup } from '../../interop/transfer/read-backup.ts';
import { restoreBackup } from '../../interop/transfer/restore-backup.ts';
import type { StoreDigest } from '../../interop/transfer/store-digest.ts';
import { writeBackup } from '../../interop/transfer/write-backup.ts';
import { byteCount, counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import { homeOf, openHome, openHomeToRead } from '../backend/home.ts';
import { openPlace, parsePlace, placeOf, type StorePlace, switchLines } from '../backend/store-place.ts';
import { tellWorkspaces, workspacesIn } from '../backend/workspaces.ts';
import { heldText } from '../held-messages.ts';
import { type Options, textOption } from '../options.ts';
import { asStarted } from '../started-as.ts';
import { cancelled, confirm } from '../terminal/ask.ts';
import { escapeForTerminal, print, printJson, printPage, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';
import { shellWord } from '../terminal/shell-word.ts';
import { contents, digestJson, tellDamage } from './migrate.ts';

const DAMAGED_EXIT = 6;
/** More likely a mistyped subcommand than a file. */
const BARE_WORD = /^[a-z]+$/i;

/** `reprise backup <file>`: other processes can write to the home meanwhile. */
export async function backup(file: string, options: Options): Promise<number> {
  if (BARE_WORD.test(file)) throw failure('INVALID_INPUT', 'cli.backupWord', { word: file });
  const home = await homeOf(options);
  await using store = await openHomeToRead(home);
  using bar = new Progress('reading', byteCount);
  const { createdAt, bytes, sha256, digest } = await writeBackup(store, file, {
    force: options['force'] === true,
    redact: options['redact'] === true,
    onProgress: (done, total) => bar.show(done, Math.max(done, total)),
  });
  const workspaces = workspacesIn(home.path);
  if (options['json'] === true)
    printAnswer({ file, createdAt, fileBytes: bytes, sha256, workspaces }, digest);
  else {
    print(`${escapeForTerminal(file)}: ${contents(digest)}`);
    say(
      asStarted(`Restore it with: reprise backup restore ${escapeForTerminal(file)} --home <empty folder>`),
    );
    tellWorkspaces(home.path, workspaces, undefined);
  }
  return tellDamage(digest) ? DAMAGED_EXIT : 0;
}

/** Reads the whole file. If it is damaged, the error says what is wrong. */
export async function verifyBackup(file: string, options: Options): Promise<number> {
  using bar = new Progress('reading', byteCount);
  const { createdAt, bytes, sha256, digest, queued } = await checkBackup(file, (done, total) =>
    bar.show(done, total),
  );
  if (options['json'] === true) printAnswer({ file, createdAt, fileBytes: bytes, sha256, queued }, digest);
  else {
    print(`${escapeForTerminal(file)} is complete, made ${createdAt}: ${contents(digest)}`);
    if (queued > 0)
      say(`${counted(queued, 'queued message')}: held after a restore, until you release them.`);
  }
  // Damage of the store that was backed up, not of the file. The backup command reported it when the file was made.
  tellDamage(digest);
  return 0;
}

export async function restore(file: string, options: Options): Promise<number> {
  const home = await homeOf(options);
  const to = textOption(options['to']);
  const target = to === undefined ? placeOf(home) : parsePlace(to, home);
  using checking = new Progress('checking the backup', byteCount);
  // Check the file before the target is created: a file that is not a backup must not leave an empty home.
  const checked = await checkBackup(file, (done, total) => checking.show(done, total));
  await using store = await openPlace(target, { readOnly: false });
  using restoring = new Progress('restoring', byteCount);
  using comparing = new Progress('comparing', byteCount);
  const bars = { checking, restoring, comparing };
  const {
    status,
    backup: found,
    differences,
    held,
  } = await restoreBackup(file, store, {
    checked,
    onProgress: (work, done, total) => bars[work].show(done, Math.max(done, total)),
  });
  const { createdAt, sha256, digest } = found;
  if (options['json'] === true)
    printAnswer({ file, createdAt, sha256, status, target: target.name, differences, held }, digest);
  else if (status === 'differs')
    say(`The restored data in ${target.name} differs from the backup. Do not use it:`);
  else {
    const what = status === 'before' ? 'was restored before' : 'is restored, every checksum is equal';
    print(`${escapeForTerminal(file)} ${what}: ${contents(digest)}`);
    print(switchLines(target));
    if (held > 0) say(heldText(held, releaseCommand(target)));
  }
  for (const difference of differences) say(escapeForTerminal(`  ${difference}`));
  tellDamage(digest);
  return status === 'differs' ? DAMAGED_EXIT : 0;
}

/** `reprise backup release`: runs or cancels the messages that a restore has held. */
export async function release(options: Options): Promise<void> {
  await using store = await openHome(options);
  const cancel = options['cancel'] === true;
  const held = await store.transfer.held();
  const what = `${counted(held.length, 'held message')} in ${counted(new Set(held.map(({ sessionId }) => sessionId)).size, 'session')}`;
  if (held.length > 0 && !(await confirm(`${cancel ? 'Cancel' : 'Run'} ${what}?`, options)))
    throw cancelled();
  const released = await store.transfer.release({ cancel });
  if (options['json'] === true) printPage(held, { lastId: held.at(-1)?.inboxId ?? null, released, cancel });
  else if (released === 0) say('No messages are held.');
  else
    say(
      `${cancel ? 'Cancelled' : 'Released'} ${what}.${cancel ? '' : ' They run when a server or chat runs here.'}`,
    );
}

function releaseCommand(target: StorePlace): string {
  if (target.kind === 'postgres') return 'reprise backup release --store postgres';
  return `reprise backup release --home ${shellWord(target.home)} --store ${target.kind}`;
}

function printAnswer(facts: object, digest: StoreDigest): void {
  const data = [...digest.sessions].map(([id, { sha256 }]) => ({ id, sha256 }));
  const page = { data, hasMore: false, lastId: data.at(-1)?.id ?? null };
  printJson({ ...page, ...facts, ...digestJson(digest) }, 2);
}
