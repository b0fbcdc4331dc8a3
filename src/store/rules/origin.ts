import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import type { SessionSource, SourceMark, SourcePage, SourceRecord } from '../port/sources.ts';
import type { NewEntry, SessionInit } from '../port/store.ts';

/* The owner and the source of a session. They are in its transcript, in an entry that only `create` writes. */

/** Limits, so that every store can index the values. */
export const MAX_OWNER_CHARS = 256;
export const MAX_SOURCE_CHARS = 512;
export const MAX_TOOL_CHARS = 64;
export const MAX_PATH_CHARS = 4096;

const ORIGIN = 'reprise.origin';

export type Origin = Pick<SessionInit, 'owner' | 'source'>;

/** @returns nothing for a session without owner and source. */
export function originEntries({ owner, source }: Origin): NewEntry[] {
  if (owner === undefined && source === undefined) return [];
  const data = {
    ...(owner !== undefined && { owner }),
    ...(source !== undefined && { source: { tool: source.tool, id: source.id } }),
  };
  return [{ type: 'custom', customType: ORIGIN, data }];
}

/** A session that was made from another one (fork, thread, subagent, reset) belongs to the same user. */
export function withOwner(init: Origin, parent: { readonly owner: string | null } | undefined): Origin {
  const owner = init.owner ?? parent?.owner ?? undefined;
  return owner === undefined ? init : { ...init, owner };
}

/** Callers may not append such an entry: it would give the session to another user. */
export function isOrigin({
  type,
  customType,
}: {
  readonly type: string;
  readonly customType?: unknown;
}): boolean {
  return type === 'custom' && customType === ORIGIN;
}

export function originOf(record: JsonObject): Origin | undefined {
  const data = customData(record as unknown as Entry, ORIGIN);
  if (data === undefined) return undefined;
  const { owner, source } = data;
  return {
    ...(isName(owner, MAX_OWNER_CHARS) && { owner }),
    ...(isSource(source) && { source: { tool: source.tool, id: source.id } }),
  };
}

export function isName(value: unknown, max: number): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    value.length <= max &&
    value.isWellFormed() &&
    !value.includes('\0')
  );
}

export function isSource(value: unknown): value is SessionSource {
  return isObject(value) && isName(value['tool'], MAX_TOOL_CHARS) && isName(value['id'], MAX_SOURCE_CHARS);
}

/** The ids that entries have in their source, with the seq of the newest entry of each id. */
export function sourceIdsOf(entries: readonly JsonObject[], firstSeq: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const [i, { sourceId }] of entries.entries())
    if (isName(sourceId, MAX_SOURCE_CHARS)) found.set(sourceId, firstSeq + i);
  return found;
}

/** A row of `sources`, the same in every database. */
export interface SourceRow {
  readonly session_id: string;
  readonly tool: string;
  readonly source_id: string;
  readonly path: string | null;
  readonly mark: string | null;
}

export function toSource({ session_id, tool, source_id, path, mark }: SourceRow): SourceRecord {
  return {
    sessionId: session_id,
    tool,
    id: source_id,
    ...(path !== null && { path }),
    ...(mark !== null && { mark: JSON.parse(mark) as JsonObject }),
  };
}

export function toMarkValues({ path, mark }: SourceMark): [path: string | null, mark: string | null] {
  return [path ?? null, mark === undefined ? null : JSON.stringify(mark)];
}

export const SOURCES_PER_PAGE = 1000;

/** Makes a page; `rows` has one row more than the page if there is a next one. */
export function sourcePage(rows: readonly SourceRow[], size: number): SourcePage {
  const page = rows.slice(0, size);
  return {
    sources: page.map(toSource),
    next: rows.length > size ? (page.at(-1)?.session_id ?? null) : null,
  };
}
