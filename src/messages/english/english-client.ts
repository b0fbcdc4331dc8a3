import { count } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { ClientMessages } from '../params/params-client.ts';

const CHECK_SERVER = 'Check the address, and that the server is running: "reprise serve" starts one.';
const CHECK_ADDRESS = 'Check that the address is that of a Reprise server.';

export const ENGLISH_CLIENT: Pick<MessageTable, keyof ClientMessages> = {
  'client.badUrl': () => [
    'the URL of a server must start with http:// or https://',
    'Use a URL such as http://127.0.0.1:4747.',
  ],
  'client.noAnswer': ({ url, reason }) => [
    `no answer from ${url}${reason === '' ? '' : `: ${reason}`}`,
    CHECK_SERVER,
  ],
  'client.badAnswer': ({ status }) => [
    `the answer has status ${status} and does not come from a Reprise server`,
    'Check the address. If it is that of a proxy, check that the Reprise server is running.',
  ],
  'client.streamEnded': ({ url }) => [
    `the event stream${url === null ? '' : ` from ${url}`} ended before its last event`,
    CHECK_SERVER,
  ],
  'client.streamSilent': ({ url, seconds }) => [
    `the event stream from ${url} sent nothing for ${count(seconds)} s`,
    CHECK_SERVER,
  ],
  'client.badEvent': ({ url }) => [`${url} sent data that is not a session event`, CHECK_ADDRESS],
  'client.eventTooLarge': ({ max }) => [
    `the server sent an event of more than ${count(max)} characters`,
    CHECK_ADDRESS,
  ],
  'client.streamRead': () => ['an event stream can be read only once', 'Open a new one.'],
};
