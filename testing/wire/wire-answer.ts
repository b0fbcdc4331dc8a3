import type { JsonRecord } from '../providers/json.ts';

/** What a provider's server is to answer, in no provider's words. */
export interface WireAnswer {
  readonly blocks: readonly WireBlock[];
  /** Unset: `tools` where there is a call, else `stop`. */
  readonly stop?: WireStop;
  readonly usage?: WireUsage;
  readonly delivery?: WireDelivery;
}

export type WireBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  /** Arguments given as text are sent as they are, be they JSON or not. */
  | {
      readonly type: 'call';
      readonly id: string;
      readonly name: string;
      readonly arguments: string | JsonRecord;
    };

export type WireStop = 'stop' | 'length' | 'tools' | 'refusal' | 'window';

export interface WireUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** How the bytes travel. */
export interface WireDelivery {
  /** One write per event, or one per byte. */
  readonly split?: 'events' | 'bytes';
  /**
   * An end after so many events: the socket breaks, the response is closed as if it were complete, nothing comes any
   * more, or the provider reports an error inside the stream.
   */
  readonly end?: { readonly after: number; readonly how: 'cut' | 'close' | 'stall' | 'error' };
}

/** A response that is no answer. */
export interface WireFailure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string as it is. */
  readonly body: JsonRecord | string;
}

/** The connection itself fails: reset without a byte, or accepted and never answered. */
export interface WireBreak {
  readonly connection: 'reset' | 'stall';
}

export type WireReply = WireAnswer | WireFailure | WireBreak;

export const DEFAULT_WIRE_USAGE: WireUsage = { input: 25, output: 15 };

/** Cuts as providers do, between characters. */
export function pieces(text: string, size = 6): string[] {
  const characters = [...text];
  const cut: string[] = [];
  for (let i = 0; i < characters.length; i += size) cut.push(characters.slice(i, i + size).join(''));
  return cut;
}

export function argumentText({ arguments: value }: Extract<WireBlock, { type: 'call' }>): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function stopOf({ blocks, stop }: WireAnswer): WireStop {
  return stop ?? (blocks.some(({ type }) => type === 'call') ? 'tools' : 'stop');
}
