import { isSessionId, parseAgentId } from '../../keys/ids.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { ConvlogRole, StoredConvlogLine } from '../../store/port/convlog.ts';
import type { InboxClass, InboxItem, InboxState } from '../../store/port/inbox.ts';
import type { TransferRecord } from '../../store/port/transfer.ts';
import { isObject } from '../../transcript/json.ts';

/*
 * The required fields of each backup record. A file is untrusted input, like a line of a transcript. Ids are checked
 * here because they become file names (I-12).
 */

type Rule = (value: unknown) => boolean;
type Rules<T> = { readonly [K in keyof Required<T>]: Rule | Rules<NonNullable<Required<T>[K]>> };
type Loose = { readonly [name: string]: Rule | Loose };

const text: Rule = (value) => typeof value === 'string';
const number: Rule = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const count: Rule = (value) => number(value) && value !== 0;
const object: Rule = isObject;
const time: Rule = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const optional =
  (rule: Rule): Rule =>
  (value) =>
    value === undefined || rule(value);
/** TypeScript requires all names of the union; with one missing, a valid backup would be called damaged. */
const oneOf =
  <T extends string>(names: Readonly<Record<T, true>>): Rule =>
  (value) =>
    typeof value === 'string' && Object.hasOwn(names, value);
const parsed =
  (parse: (value: string) => unknown): Rule =>
  (value) => {
    try {
      return typeof value === 'string' && parse(value) !== undefined;
    } catch {
      return false; // an invalid id counts as damage
    }
  };
const agent = parsed(parseAgentId);
const session: Rule = (value) => typeof value === 'string' && isSessionId(value);
const key = parsed(parseSessionKey);

const ITEM: Rules<InboxItem> = {
  inboxId: text,
  sessionId: text,
  sessionKey: text,
  state: oneOf<InboxState>({
    accepted: true,
    running: true,
    waiting: true,
    done: true,
    failed: true,
    cancelled: true,
    merged: true,
    dropped: true,
    held: true,
    interrupted: true,
  }),
  class: oneOf<InboxClass>({ message: true, system: true, command: true }),
  group: optional(text),
  body: object,
  attempts: number,
  createdAt: time,
  detail: optional(object),
  carries: optional((value) => Array.isArray(value) && value.every(text)),
};

const LINE: Rules<StoredConvlogLine> = {
  agentId: agent,
  channelType: text,
  channelId: text,
  role: oneOf<ConvlogRole>({ user: true, assistant: true, system: true }),
  content: text,
  sender: optional((value) => isObject(value) && text(value['id']) && optional(text)(value['name'])),
  ts: time,
  sessionId: optional(text),
  messageId: optional(text),
  number: count,
};

/** The record as in the file, where bytes are base64 or follow the record. */
type Plain<T> = Omit<T, 'kind' | 'bytes'>;
type Of<K extends TransferRecord['kind']> = Plain<Extract<TransferRecord, { readonly kind: K }>>;

const FIELDS: { readonly [K in TransferRecord['kind']]: Rules<Of<K>> } = {
  epoch: { epoch: number },
  item: { item: ITEM },
  inbound: {
    agentId: (value) => value === '' || agent(value),
    source: text,
    key: text,
    hash: text,
    inboxId: text,
  },
  key: { key, sessionId: (value) => value === null || session(value), counter: number },
  session: {
    id: session,
    agentId: agent,
    key: (value) => value === '' || key(value),
    parentId: optional(text),
    createdAt: time,
    epoch: number,
    lastSeq: number,
    corruptAt: optional(number),
  },
  blob: { session, hash: text },
  lines: { session, first: count },
  convlog: { line: LINE },
  purged: { id: session },
  damage: { session: text, detail: text },
};

export function isRecordKind(kind: unknown): kind is TransferRecord['kind'] {
  return typeof kind === 'string' && Object.hasOwn(FIELDS, kind);
}

/** @returns the path of the first invalid field, such as `item.state`. */
export function wrongField(kind: TransferRecord['kind'], value: object): string | undefined {
  return wrongIn(FIELDS[kind] as Loose, value);
}

function wrongIn(rules: Loose, value: object): string | undefined {
  for (const [name, rule] of Object.entries(rules)) {
    const field: unknown = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof rule === 'function') {
      if (!rule(field)) return name;
      continue;
    }
    const inner = isObject(field) ? wrongIn(rule, field) : '';
    if (inner !== undefined) return inner === '' ? name : `${name}.${inner}`;
  }
  return undefined;
}
