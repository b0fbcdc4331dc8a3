import type { Expected, JsonProblem, MessageTable, SettingMessages } from 'reprise/client';

const JSON_PROBLEMS: Readonly<Record<JsonProblem, string>> = {
  expectedEnd: '此处应为文件结尾',
  expectedValue: '此处应有一个值',
  expectedName: '此处应有双引号中的名称',
  expectedColon: '此处应为“:”',
  expectedCommaOrBrace: '此处应为“,”或“}”',
  expectedCommaOrBracket: '此处应为“,”或“]”',
  tooDeep: '嵌套层数过多',
  forbiddenName: '设置不能使用此名称：',
  repeatedName: '名称重复：',
};

const KINDS = {
  text: '文本',
  nonEmptyText: '非空文本',
  boolean: 'true 或 false',
  url: 'URL',
  duration: '时长，例如“12h”',
  model: '模型名称',
  time: 'ISO 8601 时间或 Unix 毫秒数',
  isoTime: 'ISO 8601 时间，例如“2026-01-31T12:00:00Z”',
  utcTime: 'UTC 时间，例如“2026-01-31T12:00:00.000Z”',
  timeZone: 'IANA 时区，例如“Asia/Shanghai”',
  word: '一个不含空格的词，例如“/new”',
  folder: '文件夹路径',
  other: '其他值',
};

export const CHINESE_SETTINGS: Pick<MessageTable, keyof SettingMessages> = {
  'value.wrong': ({ field, value, expected, ...at }) =>
    `${inFile(at)}${field} ${value === null ? '缺失' : `不能是 ${value}`}，应为${expectedText(expected)}。`,
  'value.unknownName': ({ field, name, suggestion, known, ...at }) => {
    const prefix = field === '' || at.origin === undefined ? '' : `${field}.`;
    const next =
      suggestion === null ? `可用的名称：${known.join('、')}。` : `是否要用“${prefix}${suggestion}”？`;
    if (at.origin === undefined) return `${field} 没有“${name}”。${next}`;
    return `${inFile(at)}没有设置“${prefix}${name}”。${next}`;
  },
  'setting.unknown': ({ name, suggestion }) =>
    `会话没有设置 ${name}。${suggestion === null ? '请检查名称。要保存自己的值，请用以“x-”开头的名称。' : `是否要用“${suggestion}”？`}`,
  'setting.protected': ({ name }) => `${name} 由引擎设置，调用方不能更改。请去掉它。`,
  'setting.fileToolsFolder': ({ field, ...at }) =>
    `${inFile(at)}${field} 不能是 true：文件工具需要文件夹。请设置主目录，或此智能体的 workspace。`,
  'setting.workspaceInHome': ({ field, workspace, home, ...at }) =>
    `${inFile(at)}${field} 不能是 ${workspace}：文件工具可能更改主目录 ${home} 中的数据。请选择主目录之外的文件夹。`,
  'setting.badAgentId': ({ id, suggestion, ...at }) =>
    `${inFile(at)}${id} 不是有效的智能体编号。请用 1 到 64 个字符，只含 a-z、0-9、_ 和 -，且不以连字符开头，例如“${suggestion}”。`,
  'setting.empty': ({ origin }) => `${origin} 不能为空。请给它一个值，或去掉它。`,
  'setting.temporarySessions': () =>
    '设置要求不保存会话，但此存储会保存。请使用“memory”存储，或去掉 session.enabled: false 和不保存会话的配置方案。',
  'config.badFile': ({ file, problem, errno, maxBytes = 0 }) => {
    const problems: Readonly<Record<typeof problem, string>> = {
      unreadable: `无法读取${errno === undefined ? '' : `（${errno}）`}`,
      notAFile: '不是文件',
      tooLarge: `超过 ${maxBytes} 字节`,
      notText: '不是 UTF-8 文本',
      notAnObject: '不是设置对象，应以 { 开头、以 } 结尾',
    };
    return `${file} ${problems[problem]}。请更正或删除它。`;
  },
  'config.badJson': ({ file, line, column, problem, name, atEnd }) =>
    `${file} 第 ${line} 行第 ${column} 列：${JSON_PROBLEMS[problem]}${name ?? ''}${atEnd ? '，但文件在此结束' : ''}。请更正 ${file}。`,
  'config.badToolModule': ({ path, reason }) =>
    reason === null
      ? `模块 ${path} 没有默认导出。请导出一个工具、工具列表，或返回会话工具列表的函数。`
      : `无法加载模块 ${path}：${reason}`,
  'config.badTrustFile': ({ file }) =>
    `无法读取受信任文件的列表：${file}。请更正它，或删除它，然后在每个受信任的文件夹中运行“reprise config trust”。`,
  'profile.unknown': ({ profile, known }) => `没有配置方案 ${profile}。可用：${known.join('、')}。`,
  'node.tooOld': ({ version, min }) =>
    `reprise 需要 Node.js ${min} 或更新的版本，当前为 ${version}。请安装新版本：https://nodejs.org`,
  'store.otherKind': ({ home, found, kind }) =>
    `${home} 中是 ${found} 存储，没有 ${kind} 存储。请不要指定类型（--store、REPRISE_STORE、store.kind），换一个主目录，或复制存储：reprise migrate --from ${found}:${home} --to ${kind}:${home}`,
  'store.noHome': () => '使用文件的存储需要主目录，请提供 home。',
  'store.noUrl': () =>
    'postgres 存储需要数据库地址。请提供 url，或设置 REPRISE_STORE_URL：postgres://user:password@host:5432/database',
  'instructions.unreadable': ({ file }) => `无法读取智能体的指令：${file}。请让此用户可以读取它，或删除它。`,
};

function inFile({ origin, line }: { readonly origin?: string; readonly line?: number }): string {
  if (origin === undefined) return '';
  return `${origin}${line === undefined ? '' : ` 第 ${line} 行`}：`;
}

function expectedText(expected: readonly Expected[]): string {
  return [...new Set(expected.map(one))].join('或');
}

function one(expected: Expected): string {
  switch (expected.is) {
    case 'integer':
      return `整数${bounds(expected)}`;
    case 'number':
      return `数字${bounds(expected)}`;
    case 'shortText':
      return `1 到 ${expected.max} 个字符的文本`;
    case 'oneOf':
      return expected.values.length === 1 ? `${expected.values[0]}` : `${expected.values.join('、')} 之一`;
    case 'list':
      return expected.of.length === 0 ? '列表' : `列表（每项为${expectedText(expected.of)}）`;
    case 'object':
      return expected.names.length === 0 ? '对象' : `含 ${expected.names.join('、')} 的对象`;
    case 'record':
      return `按名称列出的对象，每项为${expectedText(expected.of)}`;
    default:
      return KINDS[expected.is];
  }
}

function bounds({
  min,
  max,
  above,
}: {
  readonly min?: number;
  readonly max?: number;
  readonly above?: number;
}): string {
  if (above !== undefined) return `（大于 ${above}）`;
  if (min !== undefined && max !== undefined) return `（${min} 到 ${max}）`;
  if (min !== undefined) return `（至少 ${min}）`;
  return max === undefined ? '' : `（最多 ${max}）`;
}
