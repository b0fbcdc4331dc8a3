import type { ConvlogChatRef } from '../../port/convlog.ts';

/** What must be read before a request can be answered. Empty: only the names of all files. */
export interface Need {
  readonly id?: string;
  /** Also all sessions of that session's key. */
  readonly andItsKey?: boolean;
  readonly key?: string;
  /** Also all sessions of these keys. */
  readonly keys?: readonly string[];
  readonly all?: boolean;
  /** The headers of all files: every session, with its title and time. */
  readonly headers?: boolean;
  /** Chats whose channel log the request reads or writes. */
  readonly chats?: readonly ConvlogChatRef[];
}

interface Arguments {
  readonly id?: string;
  readonly key?: string;
  readonly sessionKey?: string;
  readonly create?: { readonly id?: string };
  readonly deliver?: readonly Arguments[];
  readonly chat?: ConvlogChatRef;
  readonly log?: ConvlogChatRef | readonly ConvlogChatRef[];
  readonly source?: unknown;
  readonly sessionId?: string;
}

const session = ({ id }: Arguments): Need => (id === undefined ? {} : { id });
const sessionAndItsKey = (args: Arguments): Need => ({ ...session(args), andItsKey: true });

const sessionAndRecipients = ({ deliver = [], ...args }: Arguments): Need => ({
  ...session(args),
  ...(deliver.length > 0 && { keys: deliver.flatMap(({ sessionKey = [] }) => sessionKey) }),
});

/**
 * An operation that changes the active session of a key needs every session of that key; one that creates a session
 * must also know that its id is free. Operations that are not listed use only rows that exist in the index alone.
 */
const NEEDS: Readonly<Record<string, (args: Arguments) => Need>> = {
  get: session,
  tail: session,
  read: session,
  blob: session,
  export: session,
  lines: session,
  append: sessionAndRecipients,
  begin: session,
  end: sessionAndRecipients,
  patch: session,
  // Lines of the channel log that were not read yet may belong to the session.
  purge: () => ({ all: true }),
  acquire: session,
  take: session,
  damaged: session,
  activate: sessionAndItsKey,
  delete: sessionAndItsKey,
  restore: sessionAndItsKey,
  active: ({ key }) => (key === undefined ? {} : { key }),
  receive: ({ sessionKey, create }) => ({
    ...(sessionKey !== undefined && { key: sessionKey }),
    ...(create?.id !== undefined && { id: create.id }),
  }),
  // Any transcript that was not read yet may have the source.
  create: ({ id, key, source }) =>
    source !== undefined
      ? { all: true }
      : { ...(id !== undefined && { id }), ...(key !== undefined && { key }) },
  source: ({ sessionId }) => (sessionId === undefined ? { all: true } : { id: sessionId }),
  sources: () => ({ all: true }),
  sourced: session,
  mark: session,
  verify: ({ id }) => (id === undefined ? { all: true } : { id }),
  records: () => ({ all: true }),
  copied: () => ({ all: true }),
  transfer: () => ({ all: true }),
  progress: () => ({}),
  list: () => ({ headers: true }),
  log: () => ({}),
  chat: ({ chat }) => (chat === undefined ? {} : { chats: [chat] }),
};

export function needsOf(op: string, args: unknown): Need | undefined {
  const need = NEEDS[op]?.(args as Arguments);
  const { log = [] } = (args ?? {}) as Arguments;
  const chats = [log].flat();
  return need === undefined || chats.length === 0 ? need : { ...need, chats };
}
