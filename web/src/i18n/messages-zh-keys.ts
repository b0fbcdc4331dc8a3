import type { KeyMessages, KeyPart, MessageTable } from 'reprise/client';

const PARTS: Readonly<Record<KeyPart, string>> = {
  peer: '聊天对象',
  account: '账户',
  channel: '渠道',
  'main key': '主会话名',
  job: '任务',
  'run id': '运行编号',
  'thread id': '话题编号',
  'group id': '群组编号',
  'channel id': '频道编号',
  'subagent id': '子智能体编号',
  'session id': '会话编号',
  'hook id': '钩子编号',
  'acp id': 'ACP 编号',
  'key part': '部分',
};

const KEY_FORMS = '会话键形如 agent:main:main、main:telegram:12345 或 global；/sessions 会列出会话键。';
const PEER_KINDS: Readonly<Record<string, string>> = { direct: '私聊', group: '群组', channel: '频道' };

const NOT_JSON = {
  number: '数字 ',
  type: '此类型的值 ',
  instance: '类的实例 ',
  toJson: '带有 toJSON 方法的对象',
  undefinedItem: '数组中的 undefined ',
};

export const CHINESE_KEYS: Pick<MessageTable, keyof KeyMessages> = {
  'id.badAgent': ({ id, suggestion }) =>
    `${id} 不是有效的智能体编号。请用 1 到 64 个字符，只含 a-z、0-9、_ 和 -，且不以连字符开头，例如“${suggestion}”。`,
  'id.badSession': ({ id }) =>
    `${id} 不是有效的会话编号。请用 1 到 128 个字符，只含 A-Z、a-z、0-9、.、_ 和 -，以字母或数字开头，不以点结尾。`,
  'id.deviceName': ({ id }) =>
    `${id} 不能作为会话编号：它在 Windows 上是设备名，数据将无法复制到那里。请换一个编号。`,
  'key.tooLong': ({ length, max }) =>
    `会话键有 ${length} 个字符，最多允许 ${max} 个。请使用较短的聊天或话题编号。`,
  'key.badForm': ({ key }) => `${key} 不是会话键。${KEY_FORMS}`,
  'key.emptyPart': ({ part }) => `会话键中的${PARTS[part] ?? part}为空。${KEY_FORMS}`,
  'key.accountAlone': ({ account }) => `会话键有账户 ${account}，但没有渠道。请加上该账户的渠道。`,
  'key.badEscape': ({ part }) =>
    `会话键中的 ${part} 含有无效的转义。百分号请写作 %25；转义的形式是 %XX 或 %uXXXX，十六进制数字用大写。`,
  'key.otherSpelling': ({ canonical }) => `会话键的写法不规范，请写作 ${canonical}。`,
  'key.otherKind': ({ key, kind }) =>
    `会话键 ${key} 属于类型“${kind}”，而不是“other”。请对该键调用 parseSessionKey，并传入它返回的各部分。`,
  'route.needsPeer': ({ peerKind, channel }) =>
    `${channel === null ? '' : `渠道 ${channel} 的`}${PEER_KINDS[peerKind] ?? peerKind}消息需要 channel 和 peer，请随消息提供渠道和聊天编号。`,
  'file.empty': () => '文件为空，不是会话文件。请选择含有会话 JSON 行的文件。',
  'file.notSession': ({ lines }) =>
    `不是会话文件：${lines} 行中没有一行是已知格式的记录。docs/interop.md 列出了可读取的格式。`,
  'record.noType': () => '记录不是带有“type”的对象。请提供带有“type”的对象，例如 { "type": "message", … }。',
  'record.notJson': ({ kind, name }) =>
    `${NOT_JSON[kind]}${name}无法无损地存为 JSON。请使用普通对象、列表、文本、有限的数字和布尔值。`,
  'record.tooDeep': ({ max }) => `记录的嵌套超过 ${max} 层，请减少嵌套层数。`,
  'record.tooLarge': ({ maxBytes }) => `记录超过 ${maxBytes} 字节。请分几次发送，或把内容存为文件。`,
  'blob.badName': ({ name }) =>
    `${name} 不是附件名称。名称由“sha256:”和 64 位十六进制数字组成，与引用它的条目中相同。`,
};
