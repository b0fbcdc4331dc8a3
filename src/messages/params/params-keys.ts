import type { None } from '../params.ts';

/** The part of a session key that a message is about. */
export type KeyPart =
  | 'peer'
  | 'account'
  | 'channel'
  | 'main key'
  | 'job'
  | 'run id'
  | 'thread id'
  | 'group id'
  | 'channel id'
  | 'subagent id'
  | 'session id'
  | 'hook id'
  | 'acp id'
  | 'key part';

/** Messages about ids, session keys, and the lines of transcripts. Ids and keys are given in quotes, see `quoted`. */
export interface KeyMessages {
  'id.badAgent': { readonly id: string; readonly suggestion: string };
  'id.badSession': { readonly id: string };
  'id.deviceName': { readonly id: string };
  'key.tooLong': { readonly length: number; readonly max: number };
  'key.badForm': { readonly key: string };
  'key.emptyPart': { readonly part: KeyPart };
  'key.accountAlone': { readonly account: string };
  'key.badEscape': { readonly part: string };
  'key.otherSpelling': { readonly canonical: string };
  /** The parts are given as kind "other", but the key has another kind. */
  'key.otherKind': { readonly key: string; readonly kind: string };
  'route.needsPeer': { readonly peerKind: string; readonly channel: string | null };
  'file.empty': None;
  'file.notSession': { readonly lines: number };
  'record.noType': None;
  /** `name`: the number, type or class, in quotes; empty for the others. */
  'record.notJson': {
    readonly kind: 'number' | 'type' | 'instance' | 'toJson' | 'undefinedItem';
    readonly name: string;
  };
  'record.tooDeep': { readonly max: number };
  'record.tooLarge': { readonly maxBytes: number };
  'blob.badName': { readonly name: string };
}
