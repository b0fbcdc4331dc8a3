import type { FieldRule, MalformedRequest, MessageTable, RequestMessages } from 'reprise/client';

const ID_RULE = '1 到 128 个字符（A-Z a-z 0-9 . _ -），以字母或数字开头';

const MALFORMED: Readonly<Record<MalformedRequest, string>> = {
  headers: '请求头过大，请减少或缩短请求头。',
  timeout: '请求传输超时，请重新发送。',
  upgrade: '此服务器不支持 WebSocket 等协议升级，请发送普通的 HTTP 请求。',
  connect: '此服务器不是代理，请发送路径，例如 GET /api/sessions。',
  http: '收到的不是有效的 HTTP/1.1 请求。',
  target: '请求的地址或 Host 头无效。',
};

const TYPES: Readonly<Record<string, string>> = {
  string: '文本',
  number: '数字',
  int: '整数',
  boolean: 'true 或 false',
  object: '对象',
  array: '列表',
};

const UNITS = { characters: ' 个字符', items: ' 项', number: '' };

export const CHINESE_REQUESTS: Pick<MessageTable, keyof RequestMessages> = {
  'request.noRoute': ({ path }) => `服务器没有 ${path}。`,
  'request.noMethod': ({ method, path, allow }) => `${path} 不支持 ${method}，请用 ${allow}。`,
  'request.malformed': ({ problem }) => MALFORMED[problem],
  'request.unexpected': () => '服务器发生意外错误。详情在服务器日志中，可按 X-Request-Id 查找，欢迎报告。',
  'request.noToken': () =>
    '此请求需要服务器的令牌，请用“Authorization: Bearer <令牌>”发送。服务器启动时会显示令牌的位置。',
  'request.wrongTokens': ({ seconds }) =>
    `此地址发送的错误令牌过多。请等待 ${seconds} 秒，并确认令牌属于此服务器。`,
  'request.tooMany': ({ seconds }) => `此地址未带令牌的请求过多。请等待 ${seconds} 秒，或发送令牌。`,
  'request.wrongHost': ({ host }) =>
    `${host === null ? '请求必须有且只有一个 Host 头' : `此服务器不接受发往主机“${host}”的请求`}。请使用服务器显示的地址，或将主机加入配置 server.allowedHosts。`,
  'request.fullUrl': () => '请求中只能有路径，不能有完整的网址。此服务器不是代理。',
  'request.badPath': ({ segment }) =>
    `请求路径中不能有 ${JSON.stringify(segment)}。两个斜杠之间必须是名称，编号为 ${ID_RULE}。`,
  'request.foreignPage': ({ origin }) =>
    `不允许${origin === null ? '其他网站' : ` ${origin} `}的页面访问此服务器。如需允许，请将其来源加入配置 server.cors.origins。`,
  'request.bodyTooLarge': ({ max }) => `请求内容超过 ${max} 字节，请缩短后重试。`,
  'request.bodyType': ({ type }) =>
    `${type === null ? '请求缺少 Content-Type' : `请求内容必须是 JSON，而不是 ${type}`}。请用“Content-Type: application/json”发送 UTF-8 编码的 JSON。`,
  'request.bodyCompressed': ({ encoding }) =>
    `请求内容不能压缩（${encoding}），请不带 Content-Encoding 发送。`,
  'request.bodyNotUtf8': () => '请求内容不是有效的 UTF-8。',
  'request.bodyNotJson': () => '请求内容不是有效的 JSON。',
  'request.bodyTooDeep': ({ max }) => `请求内容的嵌套超过 ${max} 层。`,
  'request.bodyTooManyValues': ({ max }) => `请求内容超过 ${max} 个值，请分次发送。`,
  'request.bodyPrototype': () => '请求内容中不能有名为 __proto__ 的字段。',
  'request.bodyDuplicate': ({ name }) => `请求内容的同一对象中，字段 ${JSON.stringify(name)} 出现了两次。`,
  'request.bodyNumber': ({ number }) => `数字 ${number} 无法精确表示，请改为文本发送。`,
  'request.badField': ({ field, ...rule }) =>
    `${field ?? '输入内容'} ${ruleText(rule)}。GET /openapi.json 说明可用的字段。`,
  'request.exclusive': ({ fields }) => `${fields.join('、')} 只能使用其中一个。`,
  'request.beforeNeedsSession': () => 'before 需要同时给出该消息的 sessionId。',
  'request.notWithBefore': ({ field }) =>
    `${field} 不能与 before 同时使用，请去掉：消息会保留原来的会话和图片。`,
  'request.zyhiveField': ({ field }) =>
    `字段 ${field} 仅用于 zyhive 类型的智能体。请去掉，或用 --profile zyhive 启动服务器。`,
  'request.badKey': () => 'Idempotency-Key 必须是 1 到 255 个可见的 ASCII 字符，例如 UUID。',
  'request.keyReused': () => '此 Idempotency-Key 已用于另一个请求，新的请求请用新的键。',
  'request.keyInFlight': () =>
    '使用此 Idempotency-Key 的请求仍在进行，请等它完成，再用同一个键发送，会得到同样的回答。',
  'request.tooManyStreams': ({ max }) =>
    `此服务器最多同时打开 ${max} 个事件流。请稍后重试、关闭其他事件流，或提高配置 server.limits.streams。`,
  'request.cutOff': () => '客户端在请求完成之前断开了连接，请重新发送。',
  'server.needsToken': ({ host }) =>
    `要监听 ${host}，服务器需要由您设置的令牌，自动生成的令牌只用于本机。请设置 REPRISE_TOKEN，或用 --token-file 指定含令牌的文件。`,
  'server.cannotListen': ({ host, port, reason, isTaken }) =>
    `无法监听 ${host}:${port}：${reason}。${isTaken ? '此端口已被另一个程序占用，请用 --port 选择其他端口，或用 --port 0 选择任意空闲端口。' : '请用 --host 选择此机器的地址。'}`,
  'token.unreadable': ({ file, reason }) =>
    `无法读取令牌文件 ${file}：${reason}。请用 --token-file 指定含令牌的文件，或使此文件可读。`,
  'token.notWritten': ({ file, reason }) =>
    `无法写入令牌文件 ${file}：${reason}。请用 --token-file 指定其他文件。`,
  'token.notValid': ({ origin, min }) =>
    `${origin} 中的令牌无效：至少需要 ${min} 个可见的 ASCII 字符，且不含空格。可以这样生成：head -c 32 /dev/urandom | base64`,
  'server.stopping': () => '服务器正在停止，请在重新启动后重试。',
  'server.storeSilent': ({ seconds }) =>
    `存储在 ${seconds} 秒内没有响应，请重试。如仍然如此，请检查磁盘或数据库服务器。`,
  'page.noFile': () => '页面的此文件已不存在，请重新加载页面。',
  'history.noEntry': ({ entry }) => `此对话中没有“${entry}”。`,
  'list.noSession': ({ session }) => `会话 ${session} 不在此列表中。`,
  'session.notOfAgent': ({ agent, session }) => `智能体 ${agent} 没有会话 ${session}。`,
  'chat.missing': ({ agent, chat }) => `智能体 ${agent} 没有聊天 ${chat}。`,
  'chat.ambiguous': ({ chat, channels }) =>
    `有 ${channels.length} 个渠道含聊天 ${chat}，请用 channelType 指定：${channels.join('、')}。`,
  'request.ownerField': ({ field }) => `只有所有者可以设置“${field}”。`,
  'request.authFailed': ({ reason }) =>
    `应用程序无法判断请求的发送者：${reason}。请更正传给 createApp 的 auth 函数。`,
  'inbox.otherSession': ({ inboxId }) => `消息 ${inboxId} 属于另一个会话。`,
  'usage.order': ({ from, to }) => `开始日期（${from}）晚于结束日期（${to}），请对调。`,
  'usage.period': ({ days, max }) => `所选时段有 ${days} 天，最多 ${max} 天，请分段查询。`,
};

function ruleText(broken: FieldRule): string {
  switch (broken.rule) {
    case 'required':
      return '必填';
    case 'unknown':
      return '不是此请求的字段';
    case 'form':
      return '格式不正确';
    case 'date':
      return '必须是日期，例如 2026-01-31';
    case 'agentId':
      return '必须是 1 到 64 个字符（a-z 0-9 _ -）';
    case 'sessionId':
      return `必须是 ${ID_RULE}`;
    case 'type':
      return `必须是${TYPES[broken.expected] ?? ` ${broken.expected}`}`;
    case 'atLeast':
      return `至少为 ${broken.limit}${UNITS[broken.unit]}`;
    case 'atMost':
      return `最多为 ${broken.limit}${UNITS[broken.unit]}`;
    case 'oneOf':
      return `必须是 ${broken.values.join('、')}${broken.values.length === 1 ? '' : ' 之一'}`;
  }
}
