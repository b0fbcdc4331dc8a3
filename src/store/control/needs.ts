/** What must have been read before somebody can be answered. Empty: the names of all files. */
export interface Need {
  readonly id?: string;
  /** Also what the key of that session stands for. */
  readonly andItsKey?: boolean;
  readonly key?: string;
  /** Also everything of these keys. */
  readonly keys?: readonly string[];
  readonly all?: boolean;
}

interface Arguments {
  readonly id?: string;
  readonly key?: string;
  readonly sessionKey?: string;
  readonly create?: { readonly id?: string };
  readonly deliver?: readonly Arguments[];
}

const session = ({ id }: Arguments): Need => (id === undefined ? {} : { id });
const sessionAndItsKey = (args: Arguments): Need => ({ ...session(args), andItsKey: true });

/**
 * Whoever moves what a key stands for needs every session of that key; whoever makes a session also has to know that
 * its id is free. Operations that are not named here concern rows that only the index has.
 */
const NEEDS: Readonly<Record<string, (args: Arguments) => Need>> = {
  get: session,
  tail: session,
  read: session,
  blob: session,
  export: session,
  append: ({ deliver = [], ...args }) => ({
    ...session(args),
    ...(deliver.length > 0 && { keys: deliver.flatMap(({ sessionKey = [] }) => sessionKey) }),
  }),
  patch: session,
  purge: session,
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
  create: ({ id, key }) => ({ ...(id !== undefined && { id }), ...(key !== undefined && { key }) }),
  verify: ({ id }) => (id === undefined ? { all: true } : { id }),
  progress: () => ({}),
};

export function needsOf(op: string, args: unknown): Need | undefined {
  return NEEDS[op]?.(args as Arguments);
}
