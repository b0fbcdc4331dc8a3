import type { ClientMessages, MessageTable } from 'reprise/client';

const CHECK_SERVER = '请检查地址，并确认服务器正在运行。';
const CHECK_ADDRESS = '请确认此地址是 Reprise 服务器。';

export const CHINESE_CLIENT: Pick<MessageTable, keyof ClientMessages> = {
  'client.badUrl': () => '服务器的网址必须以 http:// 或 https:// 开头，例如 http://127.0.0.1:4747。',
  'client.noAnswer': ({ url, reason }) =>
    `${url} 没有响应${reason === '' ? '' : `：${reason}`}。${CHECK_SERVER}`,
  'client.badAnswer': ({ status }) =>
    `收到状态 ${status}，但不是来自 Reprise 服务器。请检查地址；如果是代理的地址，请确认 Reprise 服务器正在运行。`,
  'client.streamEnded': ({ url }) =>
    `${url === null ? '' : `来自 ${url} 的`}事件流在最后一个事件之前中断。${CHECK_SERVER}`,
  'client.streamSilent': ({ url, seconds }) =>
    `来自 ${url} 的事件流已有 ${seconds} 秒没有数据。${CHECK_SERVER}`,
  'client.badEvent': ({ url }) => `${url} 发来的数据不是会话事件。${CHECK_ADDRESS}`,
  'client.eventTooLarge': ({ max }) => `服务器发来的事件超过 ${max} 个字符。${CHECK_ADDRESS}`,
  'client.streamRead': () => '事件流只能读取一次，请打开新的事件流。',
};
