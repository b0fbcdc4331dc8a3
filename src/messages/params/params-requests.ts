import type { None } from '../params.ts';

/** The rule that a field of a request broke. */
export type FieldRule =
  | { readonly rule: 'required' | 'unknown' | 'form' | 'date' | 'agentId' | 'sessionId' }
  | { readonly rule: 'type'; readonly expected: string }
  | {
      readonly rule: 'atLeast' | 'atMost';
      readonly limit: number;
      /** Characters of a text, items of a list, or the number itself. */
      readonly unit: 'characters' | 'items' | 'number';
    }
  | { readonly rule: 'oneOf'; readonly values: readonly string[] };

/** Why bytes on a connection are no request. */
export type MalformedRequest = 'headers' | 'timeout' | 'upgrade' | 'connect' | 'http' | 'target';

/** Messages about requests: input, authentication, limits, and the server itself. */
export interface RequestMessages {
  'request.noRoute': { readonly path: string };
  'request.noMethod': { readonly method: string; readonly path: string; readonly allow: string };
  'request.malformed': { readonly problem: MalformedRequest };
  'request.unexpected': None;
  'request.noToken': None;
  'request.wrongTokens': { readonly seconds: number };
  'request.tooMany': { readonly seconds: number };
  /** A null host: the request has no `Host` header, or more than one. */
  'request.wrongHost': { readonly host: string | null };
  'request.fullUrl': None;
  'request.badPath': { readonly segment: string };
  /** A null origin: the browser did not name it. */
  'request.foreignPage': { readonly origin: string | null };
  'request.bodyTooLarge': { readonly max: number };
  /** A null type: the request has no `Content-Type` header. */
  'request.bodyType': { readonly type: string | null };
  'request.bodyCompressed': { readonly encoding: string };
  'request.bodyNotUtf8': None;
  'request.bodyNotJson': None;
  'request.bodyTooDeep': { readonly max: number };
  'request.bodyTooManyValues': { readonly max: number };
  'request.bodyPrototype': None;
  'request.bodyDuplicate': { readonly name: string };
  'request.bodyNumber': { readonly number: string };
  /** A null field: the whole input. */
  'request.badField': { readonly field: string | null } & FieldRule;
  'request.exclusive': { readonly fields: readonly string[] };
  'request.beforeNeedsSession': None;
  'request.notWithBefore': { readonly field: string };
  'request.zyhiveField': { readonly field: string };
  'request.badKey': None;
  'request.keyReused': None;
  'request.keyInFlight': None;
  'request.tooManyStreams': { readonly max: number };
  'request.cutOff': None;
  'server.needsToken': { readonly host: string };
  /** `reason`: of the operating system, such as EADDRINUSE. */
  'server.cannotListen': {
    readonly host: string;
    readonly port: number;
    readonly reason: string;
    readonly isTaken: boolean;
  };
  'token.unreadable': { readonly file: string; readonly reason: string };
  'token.notWritten': { readonly file: string; readonly reason: string };
  'token.notValid': { readonly origin: string; readonly min: number };
  'server.stopping': None;
  'server.storeSilent': { readonly seconds: number };
  'page.noFile': None;
  'history.noEntry': { readonly entry: string };
  'list.noSession': { readonly session: string };
  'session.notOfAgent': { readonly agent: string; readonly session: string };
  'chat.missing': { readonly agent: string; readonly chat: string };
  'chat.ambiguous': { readonly chat: string; readonly channels: readonly string[] };
  'request.ownerField': { readonly field: string };
  'request.authFailed': { readonly reason: string };
  'inbox.otherSession': { readonly inboxId: string };
  'usage.order': { readonly from: string; readonly to: string };
  'usage.period': { readonly days: number; readonly max: number };
}
