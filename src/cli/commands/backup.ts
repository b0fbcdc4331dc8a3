import { checkBackup } from '../../interop/transfer/read-backup.ts';
import { restoreBackup } from '../../interop/transfer/restore-backup.ts';
import type { StoreDigest } from '../../interop/transfer/store-digest.ts';
import { writeBackup } from '../../interop/transfer/write-backup.ts';
import { homeOf, openHomeToRead } from '../home.ts';
import { type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, say } from '../print.ts';
import { Progress } from '../progress.ts';
import { openPlace, parsePlace, placeOf, switchLines } from '../store-place.ts';
import { tellWorkspaces, workspacesIn } from '../workspaces.ts';
import { contents, digestJson, tellDamage } from './migrate.ts';

const DAMAGED_EXIT = 6;

/** `reprise backup <file>`: whoever writes meanwhile is not disturbed. */
export async function backup(file: string, options: Options): Promise<number> {
  const home = await homeOf(options);
  await using store = await openHomeToRead(home);
  using bar = new Progress('reading bytes');
  const { createdAt, bytes, sha256, digest } = await writeBackup(store, file, {
    force: options['force'] === true,
    onProgress: (done, total) => bar.show(done, Math.max(done, total)),
  });
  const workspaces = workspacesIn(home.path);
  if (options['json'] === true) printJson({ file, createdAt, fileBytes: bytes, sha256, workspaces }, digest);
  else {
    print(`${escapeForTerminal(file)}: ${contents(digest)}`);
    say(`Bring it back with: reprise backup restore ${escapeForTerminal(file)} --home <empty folder>`);
    tellWorkspaces(home.path, workspaces, undefined);
  }
  return tellDamage(digest) ? DAMAGED_EXIT : 0;
}

/** Reads all of the file; what is wrong with it is an error of its own. */
export async function verifyBackup(file: string, options: Options): Promise<number> {
  using bar = new Progress('reading bytes');
  const { createdAt, bytes, sha256, digest } = await checkBackup(file, (done, total) =>
    bar.show(done, total),
  );
  if (options['json'] === true) printJson({ file, createdAt, fileBytes: bytes, sha256 }, digest);
  else print(`${escapeForTerminal(file)} is whole, of ${createdAt}: ${contents(digest)}`);
  // Of the store, not of the file: whoever made the backup was told by its exit.
  tellDamage(digest);
  return 0;
}

export async function restore(file: string, options: Options): Promise<number> {
  const home = await homeOf(options);
  const to = textOption(options['to']);
  const target = to === undefined ? placeOf(home) : parsePlace(to, home);
  using checking = new Progress('checking bytes of the backup');
  // Before the target is made: a file that is no backup leaves no empty home behind.
  const checked = await checkBackup(file, (done, total) => checking.show(done, total));
  await using store = await openPlace(target, { readOnly: false });
  using restoring = new Progress('restoring bytes');
  using comparing = new Progress('comparing bytes');
  const bars = { checking, restoring, comparing };
  const {
    status,
    backup: found,
    differences,
  } = await restoreBackup(file, store, {
    checked,
    onProgress: (work, done, total) => bars[work].show(done, Math.max(done, total)),
  });
  const { createdAt, sha256, digest } = found;
  if (options['json'] === true)
    printJson({ file, createdAt, sha256, status, target: target.name, differences }, digest);
  else if (status === 'differs')
    say(`What is in ${target.name} now differs from the backup and is not to be used:`);
  else {
    const what = status === 'before' ? 'was restored before' : 'is restored, every checksum is equal';
    print(`${escapeForTerminal(file)} ${what}: ${contents(digest)}`);
    print(switchLines(target));
  }
  for (const difference of differences) say(escapeForTerminal(`  ${difference}`));
  tellDamage(digest);
  return status === 'differs' ? DAMAGED_EXIT : 0;
}

function printJson(facts: object, digest: StoreDigest): void {
  const data = [...digest.sessions].map(([id, { sha256 }]) => ({ id, sha256 }));
  const page = { data, hasMore: false, lastId: data.at(-1)?.id ?? null };
  print(JSON.stringify({ ...page, ...facts, ...digestJson(digest) }, null, 2));
}
