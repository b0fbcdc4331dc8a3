import type { RepriseError } from 'reprise/client';

/** The kind of an error whose cause has no code. */
const KINDS: Readonly<Record<RepriseError['code'], string>> = {
  INVALID_INPUT: '输入有误',
  INVALID_ID: '编号不符合规则',
  INVALID_KEY: '会话键不符合规则',
  LIMIT_EXCEEDED: '超出限制，请缩短后重试',
  UNAUTHORIZED: '令牌不正确，请重新登录。',
  FORBIDDEN: '不允许此操作',
  SEND_DENIED: '此会话的发送策略不允许这条消息。',
  NOT_FOUND: '找不到',
  SESSION_NOT_FOUND: '没有此会话，可能已被删除。请在列表中选择其他会话。',
  SESSION_DELETED: '此会话在回收站中，恢复后可以继续。',
  GONE: '此会话已被永久删除。正在写的内容保留在新对话中。',
  AMBIGUOUS_REF: '有多个匹配项',
  SESSION_EXISTS: '已有相同编号的会话。',
  LEAF_MOVED: '会话读取后已有更新',
  FENCED: '此会话已由另一个进程接管，请稍后重试。',
  LEASE_HELD: '另一个进程正在运行此会话，请稍后重试。',
  SESSION_BUSY: '此会话正在回答，请等待或先停止。',
  IN_FLIGHT: '同一请求仍在进行，请稍候。',
  PRECONDITION_FAILED: '内容已在别处更改，请查看后重试。',
  KEY_REUSED: '此请求与先前的请求冲突，请重新发送。',
  QUEUE_FULL: '排队的消息已满，请在回答结束后重试。',
  STORE_CORRUPT: '存储的内容已损坏',
  STORE_NEWER: '数据由更新的版本写入，请更新服务器。',
  STORE_BUSY: '存储正忙，请稍后重试。',
  STORE_MOVED: '存储的文件被替换，请稍后重试。',
  STORE_READ_ONLY: '存储无法写入，请检查磁盘和权限。',
  STORE_FAILED: '存储出错，不确定是否已写入。可以重试，不会重复。',
  STORE_FULL: '磁盘空间不足，请释放空间后重试。',
  CONTEXT_OVERFLOW: '超出模型的上下文',
  CONTEXT_WINDOW_TOO_SMALL: '模型的上下文窗口太小',
  MODEL_AUTH: '模型服务拒绝了密钥，或账户余额不足',
  MODEL_UNKNOWN: '没有此模型',
  MODEL_RATE_LIMITED: '模型服务要求放慢速度，请稍后重试。',
  MODEL_FAILED: '模型调用失败',
  MODEL_TIMEOUT: '模型长时间没有回应，请重试。',
  ABORTED: '已停止。',
  CONFIG_INVALID: '配置有误',
  CONNECT_FAILED: '服务器没有回应，请确认它正在运行。',
  METHOD_NOT_ALLOWED: '服务器不支持此操作，它的版本可能较旧。',
  UNSUPPORTED_MEDIA_TYPE: '服务器不接受这种内容。',
  MISDIRECTED: '服务器不接受此主机名',
  RATE_LIMITED: '错误的令牌过多，请稍后再试。',
  UNAVAILABLE: '服务器正在停止或已满，请稍后重试。',
  INTERNAL: '服务器内部错误',
};

/** Kinds that end with a full stop say enough; after the others the English text names the cause. */
export function failedText(code: string, text: string): string {
  const kind = Object.hasOwn(KINDS, code) ? KINDS[code as RepriseError['code']] : undefined;
  if (kind === undefined) return text;
  return kind.endsWith('。') ? kind : `${kind}：${text}`;
}
