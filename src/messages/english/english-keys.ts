import { byteCount, count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { KeyMessages } from '../params/params-keys.ts';
import type { MessageParams } from '../params.ts';

const SESSION_ID_RULE =
  'Use 1 to 128 of A-Z a-z 0-9 . _ - that start with a letter or digit and do not end in a dot.';
const KEY_FORMS =
  'A key looks like agent:main:main, main:telegram:12345 or global; /sessions and "reprise ls" print keys.';

export const ENGLISH_KEYS: Pick<MessageTable, keyof KeyMessages> = {
  'id.badAgent': ({ id, suggestion }) => [
    `${id} is not a valid agent id`,
    `Use 1 to 64 of a-z 0-9 _ - that do not start with a hyphen, such as "${suggestion}".`,
  ],
  'id.badSession': ({ id }) => [`${id} is not a valid session id`, SESSION_ID_RULE],
  'id.deviceName': ({ id }) => [
    `${id} cannot be a session id: it is the name of a device on Windows, so the home could not be copied there`,
    'Choose another id.',
  ],
  'key.tooLong': ({ length, max }) => [
    `the session key has ${count(length)} characters, at most ${count(max)} are allowed`,
    'Use a shorter id for the chat or thread.',
  ],
  'key.badForm': ({ key }) => [`${key} is not a session key`, KEY_FORMS],
  'key.emptyPart': ({ part }) => [`the session key has an empty ${part}`, KEY_FORMS],
  'key.accountAlone': ({ account }) => [
    `the session key has the account ${account} but no channel`,
    'Add the channel of the account.',
  ],
  'key.badEscape': ({ part }) => [
    `${part} in a session key has an invalid escape`,
    'Write a percent sign as %25; escapes have the form %XX or %uXXXX, with hexadecimal digits in upper case.',
  ],
  'key.otherSpelling': ({ canonical }) => [
    `the session key must be written as ${canonical}`,
    'Each key has one spelling: escape only what needs it, in upper case.',
  ],
  'key.otherKind': ({ key, kind }) => [
    `${key} is a session key of kind "${kind}", not "other"`,
    'Call parseSessionKey with the key, and pass the parts that it returns.',
  ],
  'route.needsPeer': ({ peerKind, channel }) => [
    `a ${peerKind} message${channel === null ? '' : ` on ${channel}`} needs "channel" and "peer"`,
    'Send the channel and the id of the chat with the message.',
  ],
  'file.empty': () => [
    'the file is not a session file: it is empty',
    'Choose a file with JSON lines of a session.',
  ],
  'file.notSession': ({ lines }) => [
    `the file is not a session file: none of its ${counted(lines, 'line')} is a record of a known format`,
    'docs/interop.md lists the formats that can be read.',
  ],
  'record.noType': () => [
    'the record is not an object with a "type"',
    'Pass an object with a "type", such as { "type": "message", … }.',
  ],
  'record.notJson': ({ kind, name }) => [
    `${notJson(kind, name)} cannot be stored as JSON without loss`,
    'Pass plain objects, lists, text, finite numbers and booleans.',
  ],
  'record.tooDeep': ({ max }) => [
    `the record is nested deeper than ${count(max)} levels`,
    'Send a record with fewer levels.',
  ],
  'record.tooLarge': ({ maxBytes }) => [
    `the record is larger than ${byteCount(maxBytes)}`,
    'Send it in parts, or store the content in a file.',
  ],
  'blob.badName': ({ name }) => [
    `${name} is not the name of a blob`,
    'A name is "sha256:" and 64 hexadecimal digits, as in the entry that refers to the blob.',
  ],
};

function notJson(kind: MessageParams['record.notJson']['kind'], name: string): string {
  switch (kind) {
    case 'number':
      return `the number ${name}`;
    case 'type':
      return `a value of type ${name}`;
    case 'instance':
      return `an instance of ${name === '' ? 'a class' : name}`;
    case 'toJson':
      return 'an object with a toJSON method';
    case 'undefinedItem':
      return 'undefined in an array';
  }
}
