import type { Entry } from '../../transcript/entry.ts';
import { type HistoryFormat, rebuildHistory } from '../../transcript/render/rebuild-history.ts';
import { pathEntries } from '../../transcript/tree.ts';
import type { SessionDocument } from '../session-document.ts';
import { toHtml } from './html.ts';
import { toMarkdown } from './markdown.ts';
import { v3Lines } from './v3.ts';

export interface FormatOptions {
  /** All messages, instead of the current context. */
  readonly full?: boolean;
  /** Keep the checksums of v3 lines. */
  readonly seals?: boolean;
}

interface FormatRow {
  readonly extension: string;
  /** Yields pieces, so that a long session does not have to fit into one string. */
  readonly render: (document: SessionDocument, options: FormatOptions) => Iterable<string>;
}

export type ExportFormat = 'v3' | 'markdown' | 'html' | 'anthropic' | 'openai' | 'json';

/** Field of a JSON export by which `import` recognizes it. */
export const JSON_MARK = 'reprise-session';

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, FormatRow>> = {
  v3: { extension: 'jsonl', render: v3Lines },
  markdown: { extension: 'md', render: toMarkdown },
  html: { extension: 'html', render: toHtml },
  anthropic: { extension: 'json', render: apiMessages('anthropic') },
  openai: { extension: 'json', render: apiMessages('openai') },
  json: { extension: 'json', render: toJson },
};

const PIECE_CHARS = 64 * 1024;

/** Renders a session in pieces large enough for efficient writes. */
export function* renderSession(
  document: SessionDocument,
  format: ExportFormat,
  options: FormatOptions = {},
): Generator<string> {
  let piece = '';
  for (const part of EXPORT_FORMATS[format].render(document, options)) {
    piece += part;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

export function isExportFormat(name: unknown): name is ExportFormat {
  return typeof name === 'string' && Object.hasOwn(EXPORT_FORMATS, name);
}

function apiMessages(format: HistoryFormat): FormatRow['render'] {
  return ({ entries }, { full = false }) => {
    const messages = rebuildHistory(full ? unsummed(entries) : entries, { format });
    return [`${JSON.stringify(messages, null, 2)}\n`];
  };
}

const NOT_SAID: ReadonlySet<string> = new Set(['compaction', 'context_edit']);

/** The conversation without compactions and context edits. */
export function unsummed(entries: readonly Entry[]): Entry[] {
  const said = pathEntries(entries).filter(({ type }) => !NOT_SAID.has(type));
  return said.map((entry, i) => ({ ...entry, parentId: said[i - 1]?.id ?? null }));
}

function toJson({ entries, header, corruptAt: _, lostParts: _lost, ...session }: SessionDocument): string[] {
  const plain = entries.map(({ seal: _seal, ...entry }) => entry);
  const { seal: _seal, ...head } = header;
  return [
    `${JSON.stringify({ format: JSON_MARK, version: 1, session, header: head, entries: plain }, null, 2)}\n`,
  ];
}
