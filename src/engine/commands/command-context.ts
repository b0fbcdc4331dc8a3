import type { ErrorCode, RepriseError } from '../../errors.ts';
import type { Message, MessageOf } from '../../messages/message.ts';
import type { CommandName } from '../../messages/params/params-commands.ts';
import type { Model } from '../../models/model.ts';
import type { InboxItem, Store } from '../../store/port/store.ts';
import type { Keyed } from '../intake/keyed-request.ts';
import type { Session } from '../session.ts';
import type { TurnStream } from '../turn/turn-stream.ts';
import type { Surface } from './commands.ts';

/** What commands need of an engine; a `Reprise` is one. */
export interface CommandHost {
  readonly store: Store;
  session(ref: string | { readonly id: string }): Promise<Session>;
  renew(key: string, options?: Keyed & { readonly label?: string }): Promise<Session>;
}

export interface CommandContext {
  readonly reprise: CommandHost;
  /** Where it was typed. */
  readonly session: Session;
  readonly surface: Surface;
  readonly signal?: AbortSignal;
  /** Asks the person, in English or by the code of the message. Without it a command that needs a confirmation is refused. */
  readonly confirm?: (question: string, message: MessageOf<'delete.question'>) => Promise<boolean>;
  /** As the engine finds models by name. Without it no model can be chosen here. */
  readonly modelByName?: (name: string) => Model | undefined | Promise<Model | undefined>;
  /** Of a surface whose requests may be sent again, and where it says it: what is accepted for it is accepted once. */
  readonly request?: Keyed & { readonly idempotencyKey: string; readonly channel: string };
  /** The ids of the list this surface printed last: what the numbers in it mean. */
  readonly listed?: readonly string[] | undefined;
  readonly now?: () => Date;
}

export interface CommandAnswer {
  /** The answer for a person, one message or more. Parameters hold text that people and models wrote. */
  readonly messages: readonly Message[];
  /** The session the surface stands in from now on. */
  readonly sessionId?: string;
  /** A message that was accepted for the person; the surface shows its turn. */
  readonly turn?: TurnStream;
  /** The session that the surface is to write to a file for the person, in the format its name says. */
  readonly save?: { readonly sessionId: string; readonly name: string; readonly redact: boolean };
  /** The ids of a printed list of sessions, in its order: the surface passes them to the next command. */
  readonly listed?: readonly string[];
  readonly quit?: true;
}

export interface CommandResult extends CommandAnswer {
  readonly name: CommandName;
  /** `messages` in English, without escapes or colors. */
  readonly text: string;
  /** Set if the command failed; `messages` is the cause. */
  readonly code?: ErrorCode;
  readonly error?: RepriseError;
}

export type CommandHandler = (args: string, context: CommandContext) => Promise<CommandAnswer>;

/** For what is done once however often the request for it is sent. */
export function keyOf({ request }: { readonly request?: CommandContext['request'] | undefined }): Keyed {
  if (request === undefined) return {};
  const { idempotencyKey, isFresh } = request;
  return { idempotencyKey, isFresh };
}

/** What waits or runs in the session. Commands pass the queue: the row of the one that asks is no turn. */
export async function openTurns({ reprise, session }: CommandContext): Promise<readonly InboxItem[]> {
  const rows = await reprise.store.inbox.pending(session.id);
  return rows.filter((row) => row.class !== 'command');
}

/** One line of a longer text, whole characters only. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const cut = [...line.slice(0, max * 2)].slice(0, max).join('');
  return cut.length < line.length ? `${cut}…` : line;
}

const MAX_LABEL = 100;

/** A label as it was typed behind a command; empty: none was. */
export function labelOf(args: string): string {
  return oneLine(args, MAX_LABEL);
}
