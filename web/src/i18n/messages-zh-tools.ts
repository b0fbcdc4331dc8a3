import type { MessageTable, PathProblem, ToolMessages, ToolRule } from 'reprise/client';

const RULES: Readonly<Record<ToolRule, string>> = {
  nameForm: '请用 1 到 64 个字母、数字、“_”或“-”',
  nameTaken: '列表中已有同名的工具',
  run: '它必须是运行该工具的函数',
  description: '它必须是告诉模型工具用途的文本',
  inputSchema: '它必须是类型为“object”的 JSON Schema',
};

const PATHS: Readonly<Record<PathProblem, string>> = {
  missing: '不存在',
  notFolder: '不是文件夹，或路径中间有文件',
  isFolder: '是文件夹',
  notFile: '不是普通文件',
  brokenLink: '是指向不存在目标的链接',
  tooManyLinks: '经过的链接过多',
  noAccess: '没有访问权限',
  nameTooLong: '名称过长',
  outside: '在工作区之外',
  moved: '在使用过程中被移动或替换',
  hasNul: '含有 NUL 字符',
  notText: '不是 UTF-8 文本',
};

export const CHINESE_TOOLS: Pick<MessageTable, keyof ToolMessages> = {
  'tool.definition': ({ field, tool, value, rule }) =>
    `${tool === null ? '' : `工具“${tool}”的 `}${field} ${value === null ? '缺失' : `不能是 ${value}`}：${RULES[rule]}。请更正程序传入的 tools 列表。`,
  'tool.unknown': ({ name }) => `没有名为 ${name} 的工具。`,
  'tool.badArguments': ({ text }) => `参数不是 JSON 对象：${text}`,
  'tool.slow': ({ seconds }) => `工具没有在 ${seconds} 秒内完成。`,
  'tool.stopped': () => '工具在完成之前被停止。',
  'tool.skipped': () => '因为有新消息，跳过了这次调用，没有运行。',
  'tool.badOutput': () => '工具返回的内容既不是文字也不是图片。',
  'tool.badInput': ({ tool, issues }) =>
    `参数不符合工具 ${tool} 的输入：${issues.join('；')}。请更正参数后再调用。`,
  'tool.badImage': () => '工具返回的图片不是带图片类型的 base64 数据。',
  'tool.notJson': ({ reason }) => `工具返回的值不能表示为 JSON：${reason}`,
  'tool.tooMuchOutput': ({ limit, max }) =>
    limit === 'blocks' ? `工具返回的内容块超过 ${max} 个。` : `工具返回的图片（base64）超过 ${max} 字节。`,
  'tool.noJsonSchema': ({ tool, vendor }) =>
    `工具“${tool}”的输入是 ${vendor} 模式，无法表示为 JSON Schema。请加上 inputSchema。`,
  'tool.listFailed': ({ reason }) => `函数 tools 失败：${reason}。请更正程序传入的 tools 函数。`,
  'tool.listSlow': ({ seconds }) => `函数 tools 没有在 ${seconds} 秒内返回。请更正程序传入的 tools 函数。`,
  'mcp.noPackage': ({ name }) =>
    `MCP 服务需要软件包 ${name}，但它没有安装。请在 Reprise 旁安装：npm install ${name}`,
  'tool.ownSession': () => '这是自己的会话，请指定另一个会话。',
  'tool.sessionName': () => '请用 sessionKey 或 label 指定会话，不要同时使用两者。',
  'tool.sameLabel': ({ keys }) => `有多个会话使用此标签，请用 sessionKey 指定其中一个：${keys.join('、')}。`,
  'tool.waitsForParent': () => '不能等待此会话，因为它正在等待你的任务。请在发送时不带 timeoutSeconds。',
  'tool.waitsForItself': () => '不能等待此会话，因为它正在等待你。请在发送时不带 timeoutSeconds。',
  'spawn.tooDeep': ({ max }) =>
    `子智能体最多嵌套 ${max} 层，此会话已达到上限。请在这里完成任务，或提高智能体的 maxDepth。`,
  'spawn.tooMany': ({ max }) =>
    `一个会话最多同时运行 ${max} 个子智能体。请等其中一个完成，或提高智能体的 maxChildren。`,
  'spawn.otherAgent': () => '此智能体不能使用该智能体。请不要指定 agentId，或把该智能体加入 allowAgents。',
  'spawn.unknownModel': ({ model }) => `没有模型 ${model}，因此使用默认模型。请选择已配置的模型。`,
  'spawn.trashed': () => '会话在回收站中，请先恢复。',
  'workspace.badPath': ({ path, problem }) => `${path} ${PATHS[problem]}。`,
  'workspace.tooLarge': ({ path, bytes, max }) => `${path} 有 ${bytes} 字节，最多可读取 ${max} 字节。`,
  'workspace.noText': ({ path }) => `${path} 中没有 old_string；它必须恰好出现一次。`,
  'workspace.repeatedText': ({ path }) => `old_string 在 ${path} 中出现不止一次；它必须恰好出现一次。`,
};
