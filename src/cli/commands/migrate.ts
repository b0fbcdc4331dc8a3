import { assertAtRest, assertMayBegin, migrateStore } from '../../interop/transfer/migrate-store.ts';
import { digestRecords, recordsOf, type StoreDigest } from '../../interop/transfer/store-digest.ts';
import { byteCount, counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import type { Store } from '../../store/port/store.ts';
import type { TransferState } from '../../store/port/transfer.ts';
import { type Home, homeOf } from '../backend/home.ts';
import {
  openIfThere,
  openPlace,
  parsePlace,
  placeOf,
  type StorePlace,
  switchLines,
} from '../backend/store-place.ts';
import { tellWorkspaces, workspacesIn } from '../backend/workspaces.ts';
import { type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, printJson, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';

/** Same exit code as `verify`: the source is damaged, or the copy differs. */
const DAMAGED_EXIT = 6;

/**
 * `reprise migrate`: only reads the source; the target must be empty or hold an unfinished run of the same migration.
 */
export async function migrate(options: Options): Promise<number> {
  const home = await homeOf(options);
  const to = textOption(options['to']);
  if (to === undefined) throw failure('INVALID_INPUT', 'cli.noTarget');
  const from = textOption(options['from']);
  const source = from === undefined ? placeOf(home) : parsePlace(from, home);
  const target = parsePlace(to, home);
  if (source.name === target.name) throw failure('INVALID_INPUT', 'cli.sameStore', { store: source.name });
  await using left = await openSource(source);
  const fromHome = folderOf(source, home);
  const toHome = folderOf(target, home);
  const workspaces = fromHome === toHome ? [] : workspacesIn(fromHome);
  const run = `migration of ${source.name}`;
  if (options['dryRun'] === true)
    return await planOnly(left, { source, target, run, json: options['json'] === true, workspaces });
  await using right = await openPlace(target, { readOnly: false });
  const report = await migrateWithBar(left, right, run);
  const { status, digest, differences } = report;
  if (options['json'] === true) printAnswer({ status, source, target, digest, differences, workspaces });
  else if (status === 'differs') say(`The copy in ${target.name} differs from its source. Do not use it:`);
  else {
    const what =
      status === 'before' ? 'was copied before and is unchanged' : 'is copied, every checksum is equal';
    print(`${source.name} ${what}: ${contents(digest)}`);
    print(switchLines(target));
    tellWorkspaces(fromHome, workspaces, toHome);
    print('The old store is unchanged. New messages written to it are not copied to the new one.');
  }
  for (const difference of differences) say(escapeForTerminal(`  ${difference}`));
  return status === 'differs' || tellDamage(digest) ? DAMAGED_EXIT : 0;
}

/** The folder with the agents' workspaces: that of a local store, or the home if the store is a database. */
function folderOf(place: StorePlace, { path }: Home): string {
  return place.kind === 'postgres' ? path : place.home;
}

async function openSource(source: StorePlace): Promise<Store> {
  const store = await openIfThere(source);
  if (store !== undefined) return store;
  throw failure('NOT_FOUND', 'cli.noStore', { store: source.name });
}

async function migrateWithBar(
  source: Store,
  target: Store,
  run: string,
): Promise<Awaited<ReturnType<typeof migrateStore>>> {
  using copying = new Progress('copying', byteCount);
  using checking = new Progress('comparing', byteCount);
  const bars = { copying, checking };
  return migrateStore(source, target, {
    run,
    onProgress: (work, done, total) => bars[work].show(done, Math.max(done, total)),
  });
}

interface Plan {
  readonly source: StorePlace;
  readonly target: StorePlace;
  readonly run: string;
  readonly json: boolean;
  readonly workspaces: readonly string[];
}

/** Reads the whole source without writing, so that the user learns of problems before the copy. */
async function planOnly(left: Store, { source, target, run, json, workspaces }: Plan): Promise<number> {
  await assertAtRest(left);
  await using right = await openIfThere(target);
  const state: TransferState = (await right?.transfer.state()) ?? { empty: true };
  const isFinished = state.run?.finished === true && state.run.run === run;
  if (!isFinished) assertMayBegin(state, run);
  using bar = new Progress('reading', byteCount);
  const { bytes: total } = await left.stats();
  const digest = await digestRecords(recordsOf(left), (done) => bar.show(done, Math.max(done, total)));
  if (json) printAnswer({ status: 'planned', source, target, digest, differences: [], workspaces });
  else {
    const how = isFinished
      ? 'was copied before'
      : state.run === undefined
        ? 'would be copied'
        : 'is partly copied; the rest would be copied';
    print(`${source.name} ${how} to ${target.name}: ${contents(digest)}`);
  }
  return tellDamage(digest) ? DAMAGED_EXIT : 0;
}

export function contents({ sessions, bytes, blobs, items, convlog }: StoreDigest): string {
  const parts = [
    counted(sessions.size, 'session'),
    counted(items.count, 'accepted message'),
    counted(blobs.count, 'blob'),
    `${counted(convlog.count, 'line')} of channels`,
  ];
  return `${parts.join(', ')}, ${byteCount(bytes)}`;
}

/** Prints the damage that the source already had before the copy. */
export function tellDamage({ damage }: Pick<StoreDigest, 'damage'>): boolean {
  for (const { session, detail } of damage) say(escapeForTerminal(`session ${session}: ${detail}`));
  if (damage.length > 0)
    say(
      'The copy does not contain what could not be read. "reprise repair" copies the rest of a session into a new one.',
    );
  return damage.length > 0;
}

/** Counts and checksums as JSON. */
export function digestJson(digest: StoreDigest): object {
  const { sessions, bytes, blobs, items, inbound, keys, convlog, purged, damage } = digest;
  return {
    sessions: sessions.size,
    bytes,
    blobs: blobs.count,
    messages: items.count,
    messageKeys: inbound.count,
    sessionKeys: keys.count,
    convlogLines: convlog.count,
    purged: purged.count,
    damage: damage.map(({ session, detail }) => ({ session, detail })),
  };
}

interface MigrateAnswer {
  readonly status: string;
  readonly source: StorePlace;
  readonly target: StorePlace;
  readonly digest: StoreDigest;
  readonly differences: readonly string[];
  /** Workspaces that were not copied. */
  readonly workspaces: readonly string[];
}

function printAnswer({ status, source, target, digest, differences, workspaces }: MigrateAnswer): void {
  const data = [...digest.sessions].map(([id, { sha256 }]) => ({ id, sha256 }));
  const answer = {
    status,
    source: source.name,
    target: target.name,
    ...digestJson(digest),
    differences,
    workspaces,
  };
  printJson({ data, hasMore: false, lastId: data.at(-1)?.id ?? null, ...answer }, 2);
}
