import { roleOf } from '../compaction/safe-cut.ts';
import { RepriseError } from '../errors.ts';
import type { ModelRequest } from '../models/model.ts';
import { customData, type Entry } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import type { CallManifest } from './manifest.ts';
import { requestHash } from './request-hash.ts';
import { makeView, type RequestFrame } from './turn-context.ts';

export interface ExplainedCall extends CallManifest {
  /** The request made again from the history. */
  readonly request: ModelRequest;
  /**
   * Whether it is, byte for byte, what was sent. If not, the system prompt, the tools, the model or the profile have
   * changed since, or the profile keeps no tool results.
   */
  readonly verified: boolean;
  /** Whether the request before it is the beginning of this one, so that a prompt cache could serve it. */
  readonly extendsPrevious: boolean;
  /** What broke the prefix, where it is broken. */
  readonly cacheBreak?: string;
}

/** What the model saw in one turn, and the proof. */
export interface Explanation {
  readonly turnId: string;
  readonly status: string;
  readonly calls: readonly ExplainedCall[];
  readonly data: JsonObject;
}

export function explainTurn(
  all: readonly Entry[],
  { frame, turnId }: { readonly frame: RequestFrame; readonly turnId: string | undefined },
): Explanation {
  const turns = all.map((entry) => customData(entry, 'reprise.turn')).filter((data) => data !== undefined);
  const at = turnId === undefined ? turns.length - 1 : turns.findIndex((data) => data['turnId'] === turnId);
  const data = turns[at];
  if (data === undefined)
    throw new RepriseError('NOT_FOUND', turnId === undefined ? 'no turn yet' : `no turn ${turnId}`);
  const last = manifests(turns[at - 1]).at(-1);
  let before = last === undefined ? undefined : { ...last, leaf: storedLeaf(all, last, turns[at - 1]) };
  const calls = manifests(data).map((made): ExplainedCall => {
    const manifest = { ...made, leaf: storedLeaf(all, made, data) };
    const request = rebuild(all, manifest, frame);
    const previous = before;
    before = manifest;
    return {
      ...manifest,
      request,
      verified: requestHash(request) === manifest.hash,
      ...prefixReport(all, previous, manifest, frame, request),
    };
  });
  return { turnId: String(data['turnId'] ?? ''), status: String(data['status'] ?? ''), calls, data };
}

function manifests(data: JsonObject | undefined): CallManifest[] {
  const calls = data?.['calls'];
  return Array.isArray(calls) ? (calls as CallManifest[]) : [];
}

/**
 * The entry a request stood at. Where a turn was written when it had ended, that entry never had an id of its own:
 * then the message it answered is the nearest there is.
 */
function storedLeaf(
  all: readonly Entry[],
  { leaf }: CallManifest,
  turn: JsonObject | undefined,
): string | null {
  if (leaf === null || all.some(({ id }) => id === leaf)) return leaf;
  const end = all.findIndex(({ data }) => data === turn);
  const asked = all.slice(0, end).findLast((entry) => roleOf(entry) === 'user');
  return asked?.id ?? null;
}

function rebuild(
  all: readonly Entry[],
  { leaf, strict, historyTurns }: CallManifest,
  frame: RequestFrame,
): ModelRequest {
  return makeView(all, { ...frame, strict: strict === true, historyTurns }, { leaf }).request;
}

function prefixReport(
  all: readonly Entry[],
  previous: CallManifest | undefined,
  current: CallManifest,
  frame: RequestFrame,
  { messages }: ModelRequest,
): Pick<ExplainedCall, 'extendsPrevious' | 'cacheBreak'> {
  if (previous === undefined) return { extendsPrevious: false, cacheBreak: 'the first request' };
  const earlier = rebuild(all, previous, frame).messages;
  const isPrefix = earlier.every((message, i) => JSON.stringify(message) === JSON.stringify(messages[i]));
  if (isPrefix) return { extendsPrevious: true };
  if (previous.compaction !== current.compaction)
    return { extendsPrevious: false, cacheBreak: 'a compaction' };
  if (previous.edits !== current.edits)
    return { extendsPrevious: false, cacheBreak: 'shortened tool results' };
  if (previous.strict !== current.strict) return { extendsPrevious: false, cacheBreak: 'a stricter request' };
  if (previous.model !== current.model) return { extendsPrevious: false, cacheBreak: 'another model' };
  if (current.historyTurns !== undefined && previous.firstEntry !== current.firstEntry)
    return { extendsPrevious: false, cacheBreak: 'the limit of history turns' };
  return { extendsPrevious: false, cacheBreak: 'another branch' };
}
