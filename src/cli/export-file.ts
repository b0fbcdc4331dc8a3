import { extname } from 'node:path';
import { writeFileSafely } from '../interop/export/file-writer.ts';
import { type ExportFormat, type FormatOptions, renderSession } from '../interop/export/formats.ts';
import { loadDocument, redactDocument, type SessionDocument } from '../interop/session-document.ts';
import { counted } from '../messages/english-format.ts';
import type { SessionRecord, Store } from '../store/port/store.ts';
import { printPieces, say } from './terminal/print.ts';

export interface ExportFileOptions extends FormatOptions {
  readonly format: ExportFormat;
  /** Unset means stdout. */
  readonly file?: string | undefined;
  readonly redact?: boolean;
  /** Overwrite an existing file. */
  readonly force?: boolean;
}

const BY_EXTENSION: Readonly<Record<string, ExportFormat>> = {
  '.md': 'markdown',
  '.html': 'html',
  '.json': 'json',
};

/** The export format for a file name. */
export function formatByName(file: string): ExportFormat {
  return BY_EXTENSION[extname(file).toLowerCase()] ?? 'v3';
}

/** Exports one session completely and prints what could not be read. */
export async function exportFile(
  store: Store,
  record: SessionRecord,
  { format, file, redact = false, force = false, ...options }: ExportFileOptions,
): Promise<{ readonly id: string; readonly title: string; readonly file: string }> {
  const loaded = await loadDocument(store, record);
  tellDamage(loaded);
  const document = redact ? redactDocument(loaded) : loaded;
  const text = renderSession(document, format, options);
  if (file !== undefined) await writeFileSafely(file, text, { force });
  else await printPieces(text);
  return { id: record.id, title: document.title, file: file ?? '-' };
}

/** Without this notice an incomplete export would look complete. */
export function tellDamage({
  id,
  corruptAt,
  lostParts,
}: Pick<SessionDocument, 'id' | 'corruptAt' | 'lostParts'>): void {
  if (corruptAt !== undefined)
    say(`note: ${id} is damaged at byte ${corruptAt}; the export contains everything that can be verified`);
  if (lostParts > 0) {
    const [are, them] = lostParts === 1 ? ['is', 'it'] : ['are', 'them'];
    say(
      `note: ${counted(lostParts, 'large part')} of ${id} ${are} missing or damaged; only the beginning of ${them} is written`,
    );
  }
}
