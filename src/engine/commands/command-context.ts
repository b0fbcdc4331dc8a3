import type { ErrorCode, RepriseError } from '../../errors.ts';
import type { Message, MessageOf } from '../../messages/message.ts';
import type { CommandName, ModelOffer } from '../../messages/params/params-commands.ts';
import type { Model } from '../../models/model.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import type { Keyed } from '../intake/keyed-request.ts';
import type { Session } from '../session.ts';
import type { TurnStream } from '../turn/turn-stream.ts';
import type { Surface } from './commands.ts';

/** The parts of an engine that commands need; a `Reprise` has all of them. */
export interface CommandHost {
  readonly store: Store;
  session(ref: string | { readonly id: string }): Promise<Session>;
  renew(key: string, options?: Keyed & { readonly label?: string }): Promise<Session>;
}

export interface CommandContext {
  readonly reprise: CommandHost;
  /** The session in which the command was typed. */
  readonly session: Session;
  readonly surface: Surface;
  readonly signal?: AbortSignal;
  /**
   * Asks the user, in English or with the code of the message. If unset, a command that needs confirmation is
   * refused.
   */
  readonly confirm?: (question: string, message: MessageOf<'delete.question'>) => Promise<boolean>;
  /** Finds models by name, as in the engine. If unset, no model can be chosen here. */
  readonly modelByName?: (name: string) => Model | undefined | Promise<Model | undefined>;
  /** The models that can be chosen here. */
  readonly listModels?: () => Promise<readonly ModelOffer[]>;
  /** The full name of a model that was named without its provider. */
  readonly fullModelName?: (name: string) => Promise<string>;
  /** For surfaces that may repeat a request: the key under which its effect happens once, and the channel. */
  readonly request?: Keyed & { readonly idempotencyKey: string; readonly channel: string };
  /** The session ids of the last list that this surface printed; numbers refer to it. */
  readonly listed?: readonly string[] | undefined;
  /** The models of the last list that this surface printed; numbers refer to it. */
  readonly listedModels?: readonly string[] | undefined;
  readonly now?: () => Date;
}

export interface CommandAnswer {
  /** The answer for the user, one message or more. Parameters contain text that people and models wrote. */
  readonly messages: readonly Message[];
  /** The session that the surface shows from now on. */
  readonly sessionId?: string;
  /** The turn of a message that was accepted for the user; the surface shows it. */
  readonly turn?: TurnStream;
  /** The session that the surface should write to a file, in the format that the file name implies. */
  readonly save?: { readonly sessionId: string; readonly name: string; readonly redact: boolean };
  /** The model names of a printed list, in its order. */
  readonly listedModels?: readonly string[];
  /** The session ids of a printed list, in its order; the surface passes them to the next command. */
  readonly listed?: readonly string[];
  /** A text for the clipboard of the user. */
  readonly copy?: string;
  readonly quit?: true;
}

export interface CommandResult extends CommandAnswer {
  readonly name: CommandName;
  /** `messages` in English, without escapes or colors. */
  readonly text: string;
  /** Set if the command failed; `messages` has the cause. */
  readonly code?: ErrorCode;
  readonly error?: RepriseError;
}

export type CommandHandler = (args: string, context: CommandContext) => Promise<CommandAnswer>;

/** The key under which a request takes effect once, however often it is sent. */
export function keyOf({ request }: { readonly request?: CommandContext['request'] | undefined }): Keyed {
  if (request === undefined) return {};
  const { idempotencyKey, isFresh } = request;
  return { idempotencyKey, isFresh };
}

/** Waiting and running messages of the session, without commands: commands bypass the queue. */
export async function openTurns({ reprise, session }: CommandContext): Promise<readonly InboxItem[]> {
  const rows = await reprise.store.inbox.pending(session.id);
  return rows.filter((row) => row.class !== 'command');
}

/** One line of a longer text, cut between characters. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const cut = [...line.slice(0, max * 2)].slice(0, max).join('');
  return cut.length < line.length ? `${cut}…` : line;
}

const MAX_LABEL = 100;

/** The label typed after a command; empty without one. */
export function labelOf(args: string): string {
  return oneLine(args, MAX_LABEL);
}
