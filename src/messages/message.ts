import type { MessageParams } from './params.ts';

/** What a message is about. A code is API: it keeps its meaning, and its parameters keep theirs. */
export type MessageCode = keyof MessageParams;

/** A sentence for a person, in no language: a surface finds its text by the code. */
export interface MessageOf<C extends MessageCode> {
  readonly code: C;
  readonly params: MessageParams[C];
}

export type Message = { readonly [C in MessageCode]: MessageOf<C> }[MessageCode];

/** A message as it arrives over a wire: the server may have another version, with codes unknown here. */
export interface WireMessage {
  readonly code: string;
  readonly params: object;
}

/** A text of one or more lines, or for a failure: what failed, and what to do next. */
export type MessageText = string | readonly [what: string, next?: string];

/** All texts of one language. The type makes a table complete. */
export type MessageTable = { readonly [C in MessageCode]: (params: MessageParams[C]) => MessageText };

/** Left out for a code without parameters. */
export type ParamsOf<C extends MessageCode> = keyof MessageParams[C] extends never
  ? readonly []
  : readonly [params: MessageParams[C]];

export function message<C extends MessageCode>(code: C, ...[params]: ParamsOf<C>): MessageOf<C> {
  return { code, params: (params ?? {}) as MessageParams[C] };
}

/** Whether stored or received data is a message, of this version or another. */
export function isMessage(value: unknown): value is Message {
  const { code, params } = (value ?? {}) as { readonly code?: unknown; readonly params?: unknown };
  return typeof code === 'string' && typeof params === 'object' && params !== null;
}

/** @returns undefined for a code or parameters that this version does not know. */
export function translate(
  table: Partial<MessageTable>,
  { code, params }: WireMessage,
): MessageText | undefined {
  if (!Object.hasOwn(table, code)) return undefined;
  try {
    return (table[code as MessageCode] as (params: object) => MessageText)(params);
  } catch {
    return undefined; // parameters of another version
  }
}

/** A text on its own: a failure as two sentences, with `separator` between them. Undefined as for `translate`. */
export function textOf(table: MessageTable, message: WireMessage, separator = '\n'): string | undefined {
  const text = translate(table, message);
  if (text === undefined || typeof text === 'string') return text;
  const [what, next] = text;
  return next === undefined ? sentence(what) : `${sentence(what)}${separator}${next}`;
}

/** An answer to a command, as a server sends it: `messages`, and their English text. */
export interface CodedAnswer {
  readonly text: string;
  readonly messages?: readonly WireMessage[];
}

/** The answer in the language of a table. It stays as the server sent it if a code is unknown here. */
export function commandText(table: MessageTable, { text, messages = [] }: CodedAnswer): string {
  const texts = messages.map((message) => textOf(table, message));
  return texts.length === 0 || texts.includes(undefined) ? text : texts.join('\n');
}

/** Upper case first, a full stop last. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? '' : '.'}`;
}

/** An error, thrown here or received: a server of a newer version may have a code that this version does not know. */
interface Failure {
  readonly code: string;
  readonly message: string;
  readonly why?: Message | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

/** The cause of an error as a message; of an error that names none, its English text. */
export function whyOf(error: Failure): Message {
  return error.why ?? failedMessage(error);
}

export function failedMessage({ code, message: text, details }: Failure): MessageOf<'failed'> {
  const { next, general } = details;
  // A general next step is the one of the code, for programs.
  const hasNext = typeof next === 'string' && general !== true;
  return message('failed', { code, text, next: hasNext ? next : null });
}
