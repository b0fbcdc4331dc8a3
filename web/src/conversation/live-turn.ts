import type { CodedAnswer, Message, StreamEvent, TokenUsage } from 'reprise/client';
import type { Failure } from '../i18n/strings.ts';

/** A part of an answer while it streams. */
export type LivePart =
  | { readonly type: 'text' | 'thinking'; readonly text: string }
  | LiveCall
  | { readonly type: 'note'; readonly note: LiveNote };

export interface LiveCall {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result?: {
    readonly text: string;
    readonly isError: boolean;
    readonly durationMs?: number | undefined;
  };
}

export type LiveNote =
  | { readonly kind: 'compacting'; readonly tokensBefore: number }
  | {
      readonly kind: 'compacted';
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly coveredEntries?: number | undefined;
      readonly error?: string | undefined;
      readonly why?: Message | undefined;
    }
  | {
      readonly kind: 'guard';
      readonly step: string;
      readonly results?: number | undefined;
      readonly reason?: string | undefined;
      readonly why?: Message | undefined;
    }
  | {
      readonly kind: 'retry';
      readonly attempt: number;
      readonly delayMs: number;
      readonly reason: string;
      readonly why?: Message | undefined;
    }
  | { readonly kind: 'command'; readonly answer: CodedAnswer };

export interface LiveTurn {
  readonly turnId: string;
  readonly model: string;
  readonly parts: readonly LivePart[];
  readonly usage?: TokenUsage;
  readonly error?: Failure;
}

export const NEW_TURN: LiveTurn = { turnId: '', model: '', parts: [] };

/** Adds one event to the turn. Events of unknown types, from a newer server, are ignored. */
export function hearEvent(turn: LiveTurn, event: StreamEvent): LiveTurn {
  switch (event.type) {
    case 'turn_start':
      return turn.turnId === event.turnId ? turn : { ...NEW_TURN, turnId: event.turnId, model: event.model };
    case 'text_delta':
      return grow(turn, 'text', event.text);
    case 'thinking_delta':
      return grow(turn, 'thinking', event.text);
    case 'interrupted': {
      // Only this text of the interrupted answer is stored; its stored tool calls are sent again.
      const parts = event.text === '' ? [] : [{ type: 'text', text: event.text } as const];
      return { ...turn, turnId: event.turnId === '' ? turn.turnId : event.turnId, parts };
    }
    case 'tool_call': {
      if (turn.parts.some((part) => part.type === 'call' && part.id === event.id)) return turn;
      const { id, name, input } = event;
      return add(withoutRetry(turn), { type: 'call', id, name, input });
    }
    case 'tool_result': {
      const { toolCallId, name, text, isError, durationMs } = event;
      const result = { text, isError, durationMs };
      const at = turn.parts.findLastIndex((part) => part.type === 'call' && part.id === toolCallId);
      if (at === -1) return add(turn, { type: 'call', id: toolCallId, name, input: undefined, result });
      const parts = turn.parts.map((part, i) => (i === at ? { ...(part as LiveCall), result } : part));
      return { ...turn, parts };
    }
    case 'usage': {
      const { type: _type, ...usage } = event;
      return { ...turn, usage };
    }
    case 'guard':
      if (event.step === 'retry')
        return add(withoutRetry(turn), {
          type: 'note',
          note: {
            kind: 'retry',
            attempt: (event.attempt ?? 1) + 1,
            delayMs: event.delayMs ?? 0,
            reason: event.reason ?? '',
            why: event.why,
          },
        });
      return add(turn, {
        type: 'note',
        note: {
          kind: 'guard',
          step: event.step,
          results: event.results,
          reason: event.reason,
          why: event.why,
        },
      });
    case 'compaction_start':
      return add(turn, { type: 'note', note: { kind: 'compacting', tokensBefore: event.tokensBefore } });
    case 'compaction_end': {
      const { tokensBefore, tokensAfter, coveredEntries, error, why } = event;
      const note = { kind: 'compacted', tokensBefore, tokensAfter, coveredEntries, error, why } as const;
      const parts = turn.parts.filter((part) => part.type !== 'note' || part.note.kind !== 'compacting');
      return add({ ...turn, parts }, { type: 'note', note });
    }
    case 'command':
      return add(turn, { type: 'note', note: { kind: 'command', answer: event } });
    case 'error': {
      const { code, error: message, why, details = {} } = event;
      return { ...withoutRetry(turn), error: { code, message, details, ...(why !== undefined && { why }) } };
    }
    default:
      return turn;
  }
}

/** Removes the retry note, once the model answers or the turn fails. */
function withoutRetry(turn: LiveTurn): LiveTurn {
  const parts = turn.parts.filter((part) => part.type !== 'note' || part.note.kind !== 'retry');
  return parts.length === turn.parts.length ? turn : { ...turn, parts };
}

function grow(before: LiveTurn, type: 'text' | 'thinking', text: string): LiveTurn {
  const turn = withoutRetry(before);
  const last = turn.parts.at(-1);
  if (last?.type !== type) return add(turn, { type, text });
  return { ...turn, parts: [...turn.parts.slice(0, -1), { type, text: last.text + text }] };
}

function add(turn: LiveTurn, part: LivePart): LiveTurn {
  return { ...turn, parts: [...turn.parts, part] };
}

export function liveText({ parts }: LiveTurn): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n');
}
