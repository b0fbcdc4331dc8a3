import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { ConvlogChat, StoredConvlogLine } from '../../store/port/convlog.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { redactEntry } from '../../transcript/redact/redact.ts';
import { loadDocument, redactDocument, type SessionDocument } from '../session-document.ts';
import { writeClaw0, writeClaw0Classic } from './claw0-layout.ts';
import { writeClawdbot } from './clawdbot-layout.ts';
import { prepareFolder } from './file-writer.ts';
import { type Layout, LayoutFolder } from './layout.ts';
import { LeftOutCounter, type LeftOutReport } from './left-out.ts';
import { writeZeroclaw } from './zeroclaw-layout.ts';
import { writeZyhive } from './zyhive-layout.ts';

/** By the names of the engine's profiles. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  claw0: writeClaw0,
  'claw0-classic': writeClaw0Classic,
  zeroclaw: writeZeroclaw,
  clawdbot: writeClawdbot,
  zyhive: writeZyhive,
};

export const LAYOUT_NAMES: readonly string[] = Object.keys(LAYOUTS);

export interface LayoutExport {
  readonly layout: string;
  readonly folder: string;
  readonly sessions: readonly SessionRecord[];
  /** The list contains all sessions, so the channel logs are exported too. */
  readonly all: boolean;
  readonly full?: boolean;
  readonly force?: boolean;
  readonly redact?: boolean;
  readonly onSession?: (document: SessionDocument, done: number) => void;
}

export interface ExportedLayout {
  readonly files: number;
  readonly leftOut: LeftOutReport;
}

/** Exports sessions as the files of another tool. */
export async function exportLayout(store: Store, options: LayoutExport): Promise<ExportedLayout> {
  const { layout, folder, full = false, force = false } = options;
  const write = Object.hasOwn(LAYOUTS, layout) ? LAYOUTS[layout] : undefined;
  if (write === undefined) {
    throw failure('INVALID_INPUT', 'export.unknownLayout', { layout: quoted(layout), known: LAYOUT_NAMES });
  }
  await prepareFolder(folder, { force });
  const out = new LayoutFolder(folder, force);
  const leftOut = new LeftOutCounter();
  await write({
    documents: documents(store, options),
    convlogs: convlogs(store, options),
    out,
    leftOut,
    full,
  });
  if (options.all) leftOut.add('sessionsInTrash', await countTrash(store));
  return { files: out.files, leftOut: leftOut.report() };
}

const PAGE = 500;

async function countTrash(store: Store): Promise<number> {
  let count = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({
      limit: PAGE,
      status: 'deleted',
      ...(cursor !== undefined && { cursor }),
    });
    count += page.sessions.length;
    cursor = page.cursor;
  }
  return count;
}

async function* documents(
  store: Store,
  { sessions, redact = false, onSession }: LayoutExport,
): AsyncGenerator<SessionDocument> {
  for (const [done, record] of sessions.entries()) {
    const document = await loadDocument(store, record);
    onSession?.(document, done);
    yield redact ? redactDocument(document) : document;
  }
}

async function* convlogs(
  store: Store,
  { sessions, all, redact = false }: LayoutExport,
): AsyncGenerator<readonly StoredConvlogLine[]> {
  const chosen = new Set(sessions.map(({ id }) => id));
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.convlog.list({ limit: 100, ...(cursor !== undefined && { cursor }) });
    for (const chat of page.chats) {
      const lines = await chatLines(store, chat);
      const belong = all ? lines : lines.filter(({ sessionId = '' }) => chosen.has(sessionId));
      yield redact ? belong.map((line) => redactEntry(line) as StoredConvlogLine) : belong;
    }
    cursor = page.cursor;
  }
}

async function chatLines(store: Store, chat: ConvlogChat): Promise<StoredConvlogLine[]> {
  const lines: StoredConvlogLine[] = [];
  for (let from: number | null = 1; from !== null; ) {
    const page = await store.convlog.read(chat, { from, limit: 1000 });
    lines.push(...page.lines);
    from = page.next;
  }
  return lines;
}
