import { join } from 'node:path';
import { AUDIT_SESSION_ID } from '../../engine/admin/audit.ts';
import { resolveRef } from '../../engine/admin/ref.ts';
import { CLIENT_EXPORTS, CLIENT_NAMES, isClientName } from '../../interop/export/clients/client-export.ts';
import type { ClientName } from '../../interop/export/clients/tool-names.ts';
import { type ExportedLayout, exportLayout, LAYOUT_NAMES } from '../../interop/export/export-layout.ts';
import { prepareFolder } from '../../interop/export/file-writer.ts';
import { EXPORT_FORMATS, type ExportFormat, isExportFormat } from '../../interop/export/formats.ts';
import { leftOutText } from '../../interop/export/left-out.ts';
import { counted } from '../../messages/english-format.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { openHome } from '../backend/home.ts';
import { documentOf, newClientSession, writeClientFile } from '../client-file.ts';
import { exportFile, formatByName, tellDamage } from '../export-file.ts';
import type { Options } from '../options.ts';
import { escapeForTerminal, printJson, printPieces, say } from '../terminal/print.ts';
import { Progress } from '../terminal/progress.ts';

interface ExportOptions extends Options {
  readonly all?: unknown;
  readonly format?: unknown;
  readonly profile?: unknown;
  readonly out?: unknown;
  readonly redact?: unknown;
  readonly full?: unknown;
  readonly seals?: unknown;
  readonly force?: unknown;
  readonly json?: unknown;
}

interface Written {
  readonly id: string;
  readonly title: string;
  readonly file: string;
}

const PAGE = 500;

/** Exports one session to stdout or a file, several to a folder, or the whole home in the layout of another tool. */
export async function exportSessions(ref: string | undefined, options: ExportOptions): Promise<void> {
  const { out, profile, json } = options;
  // With a --profile the whole home is exported, unless a session is named.
  const all = options.all === true || (ref === undefined && profile !== undefined);
  if ((ref === undefined) === !all) throw failure('INVALID_INPUT', 'cli.exportWhat');
  const folder = typeof out === 'string' ? out : undefined;
  if (folder === undefined && (all || profile !== undefined))
    throw failure('INVALID_INPUT', 'cli.exportFolder');
  if (options.seals === true && options.redact === true)
    throw failure('INVALID_INPUT', 'cli.exclusive', { options: ['--seals', '--redact'] });
  if (isClientName(options.format) && ref !== undefined) return exportClient(ref, options.format, options);
  const format = formatOf(options);
  await using store = await openHome(options);
  const sessions = ref === undefined ? await allSessions(store) : [await resolveRef(store, ref)];
  if (typeof profile === 'string' && folder !== undefined) {
    const { files, leftOut } = await toLayout(store, sessions, profile, folder, { ...options, all });
    say(
      `${counted(sessions.length, 'session')} in ${counted(files, 'file')} for ${profile}: ${escapeForTerminal(folder)}`,
    );
    const missing = leftOutText(leftOut.total);
    if (missing !== '') say(`Left out, because ${profile} cannot store it: ${missing}.`);
    if (json === true) printJson({ profile, folder, sessions: sessions.map(({ id }) => id), files, leftOut });
    return;
  }
  const written =
    all && folder !== undefined
      ? await toFolder(store, sessions, format, folder, options)
      : await toFile(store, sessions[0], format, folder, options);
  if (folder !== undefined)
    say(`${counted(written.length, 'session')} as ${format}: ${escapeForTerminal(folder)}`);
  if (json === true && folder !== undefined)
    printJson({ data: written, hasMore: false, lastId: written.at(-1)?.id ?? null }, 2);
}

/** One session as a new session of another agent. */
async function exportClient(ref: string, client: ClientName, options: ExportOptions): Promise<void> {
  await using store = await openHome(options);
  const document = await documentOf(store, await resolveRef(store, ref), options.redact === true);
  const session = newClientSession(document, { full: options.full === true });
  if (typeof options.out !== 'string') {
    await printPieces(CLIENT_EXPORTS[client].write(document, session));
    return;
  }
  await writeClientFile(document, session, { client, file: options.out, force: options.force === true });
  say(`1 session for ${CLIENT_EXPORTS[client].title}: ${escapeForTerminal(options.out)}`);
  if (options.json === true) printJson({ client, id: session.id, file: options.out, cwd: session.cwd });
}

async function toLayout(
  store: Store,
  sessions: readonly SessionRecord[],
  layout: string,
  folder: string,
  options: ExportOptions,
): Promise<ExportedLayout> {
  using bar = new Progress('writing sessions');
  return exportLayout(store, {
    layout,
    folder,
    sessions,
    all: options.all === true,
    full: options.full === true,
    force: options.force === true,
    redact: options.redact === true,
    onSession: (document, done) => {
      bar.show(done, sessions.length);
      tellDamage(document);
    },
  });
}

async function toFolder(
  store: Store,
  sessions: readonly SessionRecord[],
  format: ExportFormat,
  folder: string,
  options: ExportOptions,
): Promise<Written[]> {
  await prepareFolder(folder, { force: options.force === true });
  const written: Written[] = [];
  using bar = new Progress('writing sessions');
  for (const [done, record] of sessions.entries()) {
    bar.show(done, sessions.length);
    const file = join(folder, `${record.id}.${EXPORT_FORMATS[format].extension}`);
    written.push(...(await toFile(store, record, format, file, options)));
  }
  return written;
}

async function toFile(
  store: Store,
  record: SessionRecord | undefined,
  format: ExportFormat,
  file: string | undefined,
  { redact, full, seals, force }: ExportOptions,
): Promise<Written[]> {
  if (record === undefined) return [];
  return [
    await exportFile(store, record, {
      format,
      file,
      redact: redact === true,
      full: full === true,
      seals: seals === true,
      force: force === true,
    }),
  ];
}

/** All sessions except the one in which the engine records removed sessions, because that is not a conversation. */
async function allSessions(store: Store): Promise<SessionRecord[]> {
  const sessions: SessionRecord[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ limit: PAGE, status: 'open', ...(cursor !== undefined && { cursor }) });
    sessions.push(...page.sessions.filter(({ id }) => id !== AUDIT_SESSION_ID));
    cursor = page.cursor;
  }
  return sessions;
}

function formatOf({ format, profile, out, json }: ExportOptions): ExportFormat {
  if (format !== undefined && profile !== undefined)
    throw failure('INVALID_INPUT', 'cli.exclusive', { options: ['--profile', '--format'] });
  if (profile !== undefined && !LAYOUT_NAMES.includes(String(profile)))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: '--profile',
      value: quotedValue(profile),
      expected: [{ is: 'oneOf', values: LAYOUT_NAMES }],
    });
  if (isExportFormat(format)) return format;
  if (format !== undefined)
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: '--format',
      value: quotedValue(format),
      expected: [{ is: 'oneOf', values: [...Object.keys(EXPORT_FORMATS), ...CLIENT_NAMES] }],
    });
  if (typeof out === 'string') return formatByName(out);
  return json === true ? 'json' : 'v3';
}
