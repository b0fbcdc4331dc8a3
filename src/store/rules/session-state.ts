import { changeTokens, tokenChange } from '../../context/session-tokens.ts';
import type { Entry } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { patchSettings } from '../../transcript/settings.ts';
import type { SessionRecord, SessionStatus } from '../port/store.ts';
import { factsOf, titleFrom } from './facts.ts';

/** The row of a session, the same in every database. */
export interface SessionState {
  id: string;
  agent_id: string;
  key: string;
  kind: string;
  channel: string | null;
  parent_id: string | null;
  owner: string | null;
  title: string;
  label: string | null;
  status: SessionStatus;
  created_at: string;
  last_at: string;
  recent: string;
  message_count: number;
  turn_count: number;
  token_estimate: number;
  settings: string;
  seq: number;
  q: number;
  leaf: string | null;
  epoch: number;
  context_seq: number;
  context_compaction: number;
  corrupt_at: number | null;
}

/** The part of a time that lists use for sorting first; within a second the full time decides. */
export function recentOf(lastAt: string): string {
  return lastAt.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length);
}

export interface PlacedEntry {
  readonly id: string;
  readonly parentId: string | null;
  readonly seq: number;
  readonly timestamp: string;
  /** Finds the seq of an entry of this session by its id. */
  readonly seqOf: (id: string) => number | undefined;
}

/** Applies one entry to its row, as its line has it: without the large parts that are in blobs. */
export function applyEntry(row: SessionState, entry: JsonObject, at: PlacedEntry): void {
  const facts = factsOf(entry);
  row.seq = at.seq;
  row.last_at = facts.copiedAt ?? at.timestamp;
  if (facts.role !== undefined) row.message_count++;
  if (facts.role === 'user') {
    row.turn_count++;
    if (row.title === '') row.title = titleFrom(facts.userText ?? '');
  }
  row.token_estimate = changeTokens(row.token_estimate, tokenChange(entry as Entry));
  if (facts.name !== undefined && facts.name !== '') row.title = titleFrom(facts.name);
  if (facts.settings !== undefined) applySettings(row, facts.settings);
  if (facts.status !== undefined) row.status = facts.status;
  if (facts.leafMove === true) moveLeaf(row, at);
  else if (!facts.side) row.leaf = at.id;
  if (facts.firstKept !== undefined) {
    const kept = at.seqOf(facts.firstKept);
    row.context_seq = kept !== undefined && kept < at.seq ? kept : at.seq;
    row.context_compaction = at.seq;
  }
}

/**
 * Moves the leaf. After a compaction all entries follow it, and the context starts at its first kept entry. If the
 * leaf moves back before that compaction, the whole history may be needed again.
 */
function moveLeaf(row: SessionState, { parentId, seqOf }: PlacedEntry): void {
  row.leaf = parentId;
  const seq = parentId === null ? 0 : (seqOf(parentId) ?? 0);
  if (row.context_compaction > 0 && seq >= row.context_compaction) return;
  row.context_seq = 1;
  row.context_compaction = 0;
}

function applySettings(row: SessionState, patch: JsonObject): void {
  const settings = new Map(Object.entries(JSON.parse(row.settings) as JsonObject));
  patchSettings(settings, patch);
  const label = settings.get('label');
  row.settings = JSON.stringify(Object.fromEntries(settings));
  row.label = typeof label === 'string' ? label : null;
}

export function recordOf(row: SessionState, isActive: boolean): SessionRecord {
  return {
    id: row.id,
    agentId: row.agent_id,
    sessionKey: row.key,
    title: row.title,
    ...(row.label !== null && { label: row.label }),
    status: row.status,
    active: isActive,
    messageCount: row.message_count,
    turnCount: row.turn_count,
    tokenEstimate: row.token_estimate,
    createdAt: row.created_at,
    lastAt: row.last_at,
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    ...(row.owner !== null && { owner: row.owner }),
    lastSeq: row.seq,
    leaf: row.leaf,
    epoch: row.epoch,
    settings: JSON.parse(row.settings) as JsonObject,
    ...(row.corrupt_at !== null && { corruptAt: row.corrupt_at }),
  };
}
