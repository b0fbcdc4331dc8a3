import type { FinishEvent } from '../../models/model.ts';
import type { Usage } from '../../transcript/entry.ts';
import { requestHash } from './request-hash.ts';
import type { ContextView, TokenSplit } from './turn-context.ts';

/** What one model call contained: small enough to be kept permanently, and enough to rebuild the request. */
export interface CallManifest {
  /** The entry the request stood at. */
  readonly leaf: string | null;
  /** The first entry that was sent in full, and the compaction whose summary stood for earlier ones. */
  readonly firstEntry: string | null;
  readonly compaction: string | null;
  /** How many entries were shortened or hidden. */
  readonly edits: number;
  readonly messages: number;
  readonly tokens: number;
  readonly split: TokenSplit;
  readonly hash: string;
  readonly provider: string;
  readonly model: string;
  readonly usage?: Usage;
  readonly latencyMs: number;
  /** The provider had refused the request, and this is the stricter one that was sent instead. */
  readonly strict?: boolean;
  /** Only so many turns of the history were sent. */
  readonly historyTurns?: number;
}

export function manifestOf(
  view: ContextView,
  { message, usage }: FinishEvent,
  { latencyMs, strict }: { readonly latencyMs: number; readonly strict: boolean },
): CallManifest {
  const { selection, request, tokens, split, leaf, historyTurns } = view;
  return {
    leaf,
    firstEntry: selection.entries[0]?.id ?? null,
    compaction: selection.compaction?.id ?? null,
    edits: selection.edits.size,
    messages: request.messages.length,
    tokens,
    split,
    hash: requestHash(request),
    provider: message.provider ?? '',
    model: message.model ?? '',
    ...(usage !== undefined && { usage }),
    latencyMs: Math.round(latencyMs),
    ...(strict && { strict }),
    ...(historyTurns !== undefined && { historyTurns }),
  };
}
