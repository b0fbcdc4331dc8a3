import { byteCount, count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type { FieldRule, MalformedRequest, RequestMessages } from '../params/params-requests.ts';

const OPENAPI = 'GET /openapi.json describes what this route accepts.';
const ID_RULE = '1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit';
const ONE_JSON_VALUE = 'Send one JSON value in UTF-8.';

const MALFORMED: Readonly<Record<MalformedRequest, readonly [what: string, next: string]>> = {
  headers: ['the request headers are too large', 'Send fewer or shorter headers.'],
  timeout: ['the request took too long to arrive', 'Send it again.'],
  upgrade: ['this server has no WebSocket or other protocol to upgrade to', 'Send a plain HTTP request.'],
  connect: ['this server is not a proxy', 'Send a path, such as GET /api/sessions.'],
  http: ['the connection did not send valid HTTP/1.1', 'Send a plain HTTP request to this address.'],
  target: [
    'the URL or the Host header of the request is not valid',
    'Send a path, such as GET /api/sessions, and one Host header.',
  ],
};

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

export const ENGLISH_REQUESTS: Pick<MessageTable, keyof RequestMessages> = {
  'request.noRoute': ({ path }) => [
    `there is no route ${path}`,
    'GET /openapi.json lists all routes; /docs shows them.',
  ],
  'request.noMethod': ({ method, path, allow }) => [`${path} has no method ${method}`, `Use ${allow}.`],
  'request.malformed': ({ problem }) => MALFORMED[problem],
  'request.unexpected': () => [
    'unexpected error in the server',
    'The server log has the details under the X-Request-Id of this response. Please report them.',
  ],
  'request.noToken': () => [
    "this request needs the server's token",
    'Send it in the header Authorization, after "Bearer ". The server prints at its start where the token is.',
  ],
  'request.wrongTokens': ({ seconds }) => [
    'too many wrong tokens from this address',
    `Wait ${seconds} s, and check that the token is the one of this server.`,
  ],
  'request.tooMany': ({ seconds }) => [
    'too many requests without a token from this address',
    `Wait ${seconds} s, or send the token.`,
  ],
  'request.wrongHost': ({ host }) => [
    host === null
      ? 'the request must have exactly one Host header'
      : `this server does not accept requests for the host "${host}"`,
    'Use the address that the server prints, or add the host to server.allowedHosts in its configuration.',
  ],
  'request.fullUrl': () => [
    'the request has a full URL where only a path is allowed',
    'This server is not a proxy: send a path, such as GET /api/sessions.',
  ],
  'request.badPath': ({ segment }) => [
    `${JSON.stringify(segment)} is not allowed in the path of a request`,
    `Between two slashes there must be a name. An id is ${ID_RULE}.`,
  ],
  'request.foreignPage': ({ origin }) => [
    `pages of ${origin ?? 'other sites'} are not allowed to call this server`,
    'To allow them, add their origin to server.cors.origins in its configuration.',
  ],
  'request.bodyTooLarge': ({ max }) => [
    `the request body is larger than ${byteCount(max)}`,
    'Send less in one request.',
  ],
  'request.bodyType': ({ type }) => [
    type === null
      ? 'the request has a body but no Content-Type'
      : `the request body must be JSON, not ${type}`,
    'Send JSON in UTF-8 with "Content-Type: application/json".',
  ],
  'request.bodyCompressed': ({ encoding }) => [
    `the request body must not be compressed (${encoding})`,
    'Send it without Content-Encoding.',
  ],
  'request.bodyNotUtf8': () => ['the request body is not valid UTF-8', ONE_JSON_VALUE],
  'request.bodyNotJson': () => ['the request body is not valid JSON', ONE_JSON_VALUE],
  'request.bodyTooDeep': ({ max }) => [
    `the request body is nested deeper than ${max} levels`,
    'Send fewer levels of objects and arrays.',
  ],
  'request.bodyTooManyValues': ({ max }) => [
    `the request body has more than ${count(max)} values`,
    'Send less in one request.',
  ],
  'request.bodyPrototype': () => ['the request body has a field named __proto__', 'Leave this field out.'],
  'request.bodyDuplicate': ({ name }) => [
    `the request body has the field ${JSON.stringify(name)} twice in one object`,
    'Send each field once.',
  ],
  'request.bodyNumber': ({ number }) => [
    `the request body has the number ${number}, which would be changed when it is parsed`,
    'Send it as a string.',
  ],
  'request.badField': (field) => [fieldText(field), OPENAPI],
  'request.exclusive': ({ fields }) => [
    `${fields.slice(0, -1).join(', ')} and ${fields.at(-1)} cannot be combined`,
    'Use only one of them.',
  ],
  'request.beforeNeedsSession': () => ['before needs sessionId', 'Add the sessionId of that message.'],
  'request.notWithBefore': ({ field }) => [
    `${field} cannot be combined with before`,
    'Leave it out: the message keeps its session and its images.',
  ],
  'request.zyhiveField': ({ field }) => [
    `${field} is a field for agents with profile zyhive, and this agent has another profile`,
    'Leave it out, or start the server with --profile zyhive.',
  ],
  'request.badKey': () => ['an Idempotency-Key is 1 to 255 visible ASCII characters', 'Use a UUID.'],
  'request.keyReused': () => [
    'this Idempotency-Key was used for another request',
    'Use a new key for each new request.',
  ],
  'request.keyInFlight': () => [
    'a request with this Idempotency-Key is still running',
    'Wait until it is done, then send the request again with the same key: it gets the same answer.',
  ],
  'request.tooManyStreams': ({ max }) => [
    `this server has its maximum of ${counted(max, 'open stream')}`,
    'Try again later, close other streams, or raise server.limits.streams in its configuration.',
  ],
  'request.cutOff': () => ['the client disconnected before its request was complete', 'Send it again.'],
  'server.needsToken': ({ host }) => [
    `to listen on ${host}, the server needs a token that you set; the generated one is for this machine only`,
    'Set REPRISE_TOKEN, or name a file with the token: --token-file.',
  ],
  'server.cannotListen': ({ host, port, reason, isTaken }) => [
    `cannot listen on ${host}:${port}: ${reason}`,
    isTaken
      ? 'Another program uses this port. Choose another one with --port, or --port 0 for any free one.'
      : 'Choose an address of this machine with --host.',
  ],
  'token.unreadable': ({ file, reason }) => [
    `cannot read the token file ${file}: ${reason}`,
    'Name a file that contains a token with --token-file, or make this one readable.',
  ],
  'token.notWritten': ({ file, reason }) => [
    `cannot write the token file ${file}: ${reason}`,
    'Name another file with --token-file.',
  ],
  'token.notValid': ({ origin, min }) => [
    `the token in ${origin} is not valid: it must have at least ${min} visible ASCII characters and no spaces`,
    'Generate one: head -c 32 /dev/urandom | base64',
  ],
  'server.stopping': () => ['the server is stopping', 'Try again when it has started again.'],
  'server.storeSilent': ({ seconds }) => [
    `the store did not answer within ${seconds} s`,
    'Try again. If it stays like this, check the disk or the database server.',
  ],
  'page.noFile': () => ['this file of the page does not exist any more', 'Reload the page.'],
  'history.noEntry': ({ entry }) => [
    `there is no entry "${entry}" in this conversation`,
    'Use firstId or lastId of a page.',
  ],
  'list.noSession': ({ session }) => [
    `session ${session} is not in this list`,
    'Use firstId or lastId of a page, or its cursor.',
  ],
  'session.notOfAgent': ({ agent, session }) => [
    `agent ${agent} has no session ${session}`,
    `GET /api/agents/${agent}/sessions lists its sessions.`,
  ],
  'chat.missing': ({ agent, chat }) => [
    `agent ${agent} has no chat ${chat}`,
    `GET /api/agents/${agent}/conversations lists its chats.`,
  ],
  'chat.ambiguous': ({ chat, channels }) => [
    `${channels.length} channels have a chat ${chat}`,
    `Add channelType to the query: ${channels.join(' or ')}.`,
  ],
  'request.ownerField': ({ field }) => [
    `only the owner may set "${field}"`,
    `Leave "${field}" out of the request.`,
  ],
  'request.authFailed': ({ reason }) => [
    `the application could not decide who sent the request: ${reason}`,
    'Correct the function "auth" that is passed to createApp.',
  ],
  'inbox.otherSession': ({ inboxId }) => [
    `message ${inboxId} belongs to another session`,
    'Use the sessionId that was returned with this inboxId.',
  ],
  'usage.order': ({ from, to }) => [`from (${from}) is later than to (${to})`, 'Swap the two days.'],
  'usage.period': ({ days, max }) => [
    `the period has ${count(days)} days; at most ${count(max)} are allowed`,
    'Ask for several shorter periods.',
  ],
};

function fieldText({ field, ...rule }: RequestMessages['request.badField']): string {
  return `${field ?? 'the input'} ${ruleText(rule)}`;
}

function ruleText(broken: FieldRule): string {
  switch (broken.rule) {
    case 'required':
      return 'is required';
    case 'unknown':
      return 'is not a field of this request';
    case 'form':
      return 'does not have the expected form';
    case 'date':
      return 'must be a date, such as 2026-01-31';
    case 'agentId':
      return 'must be 1 to 64 of a-z 0-9 _ -';
    case 'sessionId':
      return `must be ${ID_RULE}`;
    case 'type':
      return `must be ${TYPES[broken.expected] ?? broken.expected}`;
    case 'atLeast':
    case 'atMost': {
      const { limit, unit } = broken;
      const bound = `at ${broken.rule === 'atLeast' ? 'least' : 'most'}`;
      return unit === 'number'
        ? `must be ${bound} ${count(limit)}`
        : `must have ${bound} ${counted(limit, unit.slice(0, -1))}`;
    }
    case 'oneOf':
      return broken.values.length === 1
        ? `must be ${broken.values[0]}`
        : `must be one of ${broken.values.join(', ')}`;
  }
}
