import type { MessageTable } from './message.ts';
import type { RequestMessages } from './params-requests.ts';

export const ENGLISH_REQUESTS: Pick<MessageTable, keyof RequestMessages> = {
  'request.noRoute': ({ path }) => [
    `there is no route ${path}`,
    'GET /openapi.json lists all routes; /docs shows them.',
  ],
  'request.noMethod': ({ method, path, allow }) => [`${path} has no method ${method}`, `Use ${allow}.`],
};
