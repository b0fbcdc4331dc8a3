import type { JsonRecord } from '../providers/json.ts';

/** The answer that a provider's server should give, independent of the provider's format. */
export interface WireAnswer {
  readonly blocks: readonly WireBlock[];
  /** Unset: `tools` if there is a call, else `stop`. */
  readonly stop?: WireStop;
  readonly usage?: WireUsage;
  readonly delivery?: WireDelivery;
}

export type WireBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted'; readonly data: string }
  /** Arguments given as text are sent unchanged, whether or not they are JSON. */
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

/** How the bytes are sent. */
export interface WireDelivery {
  /** One write per event, or one per byte. */
  readonly split?: 'events' | 'bytes';
  /**
   * Ends after this many events: the socket breaks, the response closes as if it were complete, nothing more arrives,
   * or the provider reports an error in the stream.
   */
  readonly end?: { readonly after: number; readonly how: 'cut' | 'close' | 'stall' | 'error' };
}

/** A response with an error status. */
export interface WireFailure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string unchanged. */
  readonly body: JsonRecord | string;
}

/** The connection itself fails: it is reset without a byte, or accepted and never answered. */
export interface WireBreak {
  readonly connection: 'reset' | 'stall';
}

export type WireReply = WireAnswer | WireFailure | WireBreak;

export const DEFAULT_WIRE_USAGE: WireUsage = { input: 25, output: 15 };

/** Cuts a text as providers do, between characters. */
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
