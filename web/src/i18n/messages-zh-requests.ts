import type { MessageTable, RequestMessages } from 'reprise/client';

export const CHINESE_REQUESTS: Pick<MessageTable, keyof RequestMessages> = {
  'request.noRoute': ({ path }) => `服务器没有 ${path}。`,
  'request.noMethod': ({ method, path, allow }) => `${path} 不支持 ${method}，请用 ${allow}。`,
};
