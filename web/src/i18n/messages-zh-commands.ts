import type {
  CacheBreak,
  CommandGroup,
  CommandMessages,
  HelpTopic,
  MessageTable,
  SessionFacts,
} from 'reprise/client';
import { failedText } from './messages-zh-codes.ts';

const HELP: Readonly<Record<HelpTopic, string>> = {
  new: '开始新会话，旧会话保留在列表中',
  history: '最近的消息，以及其他命令所需的编号',
  tree: '所有分支，* 为当前分支',
  undo: '撤销上一轮、压缩或重置',
  redo: '恢复 /undo 撤销的内容',
  retry: '重新生成回答，旧回答保留为分支',
  edit: '改写上一条消息，原消息保留为分支',
  stop: '停止当前轮次、排队的消息和子智能体，已生成的部分回答会保存',
  sessions: '最近的会话，* 为当前会话',
  switch: '转到另一个会话：列表中的编号，或 ID、名称、键的开头',
  fork: '在此会话的副本中继续，可指定到某条消息',
  delete: '将会话移到回收站，先确认',
  search: '按词语在所有会话中查找消息',
  repair: '用损坏会话的可读部分继续',
  copy: '将最后的回答复制到剪贴板',
  export: '将会话写入文件；.md、.html 或 .json 决定格式',
  remoteExport: '将记录写入本地文件，文件名以 .jsonl 结尾',
  context: '上下文的用量和组成',
  compact: '压缩较早的消息，或预览、撤销压缩',
  pin: '在上下文中逐字保留一条消息；不带参数则列出',
  unpin: '取消固定一条消息',
  explain: '某一轮发送给模型的内容及原因',
  rename: '为会话命名',
  model: '查看或选择模型',
  queue: '查看或选择回答期间新消息的处理方式',
  status: '此会话概况',
  help: '此列表，或某个命令的说明',
  quit: '离开，会话已保存',
};

const GROUPS: Readonly<Record<CommandGroup, string>> = {
  conversation: '对话',
  sessions: '会话',
  context: '上下文',
  settings: '设置',
  other: '其他',
};

const PARTS: Readonly<Record<string, string>> = {
  system: '指令',
  tools: '工具',
  summary: '摘要',
  history: '之前的消息',
  newest: '最后的消息',
  overhead: '服务商添加的内容',
  margin: '估算余量',
  reserve: '预留给回答',
  free: '空闲',
};

const STEPS = { turn: '一轮', compaction: '压缩', reset: '重置' };
const STATUS: Readonly<Record<string, string>> = {
  done: '完成',
  aborted: '已停止',
  error: '失败',
  accepted: '排队中',
  running: '进行中',
  merged: '已合并',
  failed: '失败',
  cancelled: '已取消',
  dropped: '已丢弃',
  interrupted: '已中断',
};
const ROLES: Readonly<Record<string, string>> = {
  user: '用户',
  assistant: '回答',
  tool: '工具',
  summary: '摘要',
};
const PLACES = { terminal: '终端对话', owner: '会话所有者', other: '其他地方' };
const CHOSEN_BY = {
  run: '由 --model 指定',
  session: '为此会话选择',
  agent: '此智能体的配置',
  all: '所有智能体的配置',
};

const CACHE_BREAKS: Readonly<Record<CacheBreak, string>> = {
  firstRequest: '这是首次请求',
  compaction: '压缩了较早的消息',
  toolResults: '缩短了工具结果',
  stricter: '按更严格的规则重新发送',
  model: '换了模型',
  historyTurns: '历史轮数限制略去了较早的消息',
  branch: '换了分支',
};

export const CHINESE_COMMANDS: Pick<MessageTable, keyof CommandMessages> = {
  text: ({ text }) => text,
  failed: ({ code, text }) => failedText(code, text),

  'help.group': ({ group }) => `${GROUPS[group]}：`,
  'help.command': ({ usage, about, aliases }) => {
    const also = aliases.length === 0 ? '' : `（又名 ${aliases.map((name) => `/${name}`).join('、')}）`;
    return `  ${usage.padEnd(36)}  ${HELP[about]}${also}`;
  },
  'help.one': ({ usage, about, aliases }) =>
    `${usage}：${HELP[about]}${aliases.length === 0 ? '' : `（又名 ${aliases.map((name) => `/${name}`).join('、')}）`}`,
  'help.about': ({ about }) => HELP[about],
  'help.escape': () => '其余都是消息；// 开头的消息以一个斜杠开始。',
  'help.keys': () =>
    '按键：Alt-Enter 或行末的 \\ 换行；@路径 添加文件或图片；回答期间按 ↑ 取回最新的排队消息；Ctrl-C 停止回答，排队的消息回到输入行；Ctrl-D 或连按两次 Ctrl-C 离开。',
  'help.noteLast': () =>
    '紧接在子智能体的结果或其他记录之后不能使用（请发送新消息），紧接在压缩或重置之后也不能使用（请先 /undo）。',
  'help.ownerOnly': () =>
    '在渠道中人人可以查看，但只有所有者可以更改，除非 `session.senderCommands` 列出此命令。',
  'command.notOne': () => '命令以一个斜杠开头。',
  'command.unknown': ({ name, suggestion }) =>
    `没有命令 /${name}。${suggestion === null ? '/help 列出所有命令。' : `是否要用 /${suggestion}？`}两个斜杠开头的消息以一个斜杠开始。`,
  'command.unknownHere': ({ name }) => `这里没有命令“${name}”。/help 列出所有命令。`,
  'command.notHere': ({ name, place }) => `/${name} 只能用于${PLACES[place]}。/help 列出此处可用的命令。`,
  'command.ownerOnly': ({ name }) =>
    `只有所有者可以用 /${name} 更改。所有者可以用 session.senderCommands 允许所有发送者。`,
  'command.needsArgument': ({ name, usage }) => `/${name} 需要参数。请写：${usage}`,

  'session.new': ({ label }) => `已开始新会话${label === '' ? '' : `“${label}”`}，之前的会话不变。`,
  'session.newOnChannel': () => '已开始新会话，之前的会话不变；/undo 可返回。',
  'session.here': ({ name, id, messages }) => `已在会话“${named(name)}”中：${messages} 条消息（${id}）。`,
  'session.switched': ({ name, id, messages }) => `已转到会话“${named(name)}”：${messages} 条消息（${id}）。`,
  'session.forked': ({ id }) => `已转到副本 ${id}，原会话不变。`,
  'session.renamed': ({ label }) => `此会话现名“${label}”。`,
  'session.notDamaged': ({ name }) => `“${named(name)}”没有损坏。`,
  'session.repaired': ({ id, from, entries, damagedAt }) =>
    `已将 ${from}（${damagedAt === null ? '已损坏' : `在第 ${damagedAt} 字节处损坏`}）的 ${entries} 条可读内容复制到新会话 ${id}，损坏的会话不变。`,
  'sessions.none': () => '没有会话。',
  'sessions.noMatch': ({ filter }) => `没有名称含“${filter}”的会话。`,
  'sessions.row': ({ number, isCurrent, name, facts }) =>
    `${String(number).padStart(3)}${isCurrent ? '*' : ' '} ${named(name)} · ${facts.messages === null ? '消息尚未计数' : `${facts.messages} 条消息`} · ${ago(facts.minutesAgo)} · ${facts.id.slice(0, 13)}${facts.isDamaged ? ' · 已损坏' : ''}`,
  'sessions.more': ({ sessions }) => `…… 还有 ${sessions} 个`,
  'delete.question': ({ name, id, messages }) =>
    `将“${named(name)}”（${id}，${messages} 条消息）移到回收站？`,
  'delete.done': ({ name, id, messages }) => `已将“${named(name)}”（${id}，${messages} 条消息）移到回收站。`,
  'delete.nothing': () => '没有删除任何内容。',
  'delete.needsConfirmation': ({ name }) =>
    `删除“${named(name)}”需要确认，而这里无法询问。没有删除任何内容。`,
  'export.session': ({ name, messages }) => `“${named(name)}”，${messages} 条消息。`,
  'copy.done': ({ characters }) => `已复制最后的回答（${characters} 个字符）。`,
  'copy.nothing': () => '还没有可复制的回答，请先发送消息。',
  'copy.failed': () => '没有找到剪贴板。请使用支持 OSC 52 的终端，或安装 wl-copy 或 xclip。',
  'chat.quit': () => '会话已保存。',

  'search.hit': ({ name, id, position, line, role, at, snippet }) =>
    `${named(name)}（${id}，${position === null ? `第 ${line} 行` : `#${position}`}；${ROLES[role] ?? role}，${at}）\n     ${snippet}`,
  'search.none': ({ text }) => `没有消息包含“${text}”。`,
  'search.show': ({ command }) => `在会话中查看：${command}`,
  'search.more': ({ max }) => `超过 ${max} 条；“reprise search”可列出全部。`,
  'search.indexing': ({ done, total }) =>
    done === null || total === null
      ? '结果不完整：正在建立搜索索引。'
      : `结果不完整：已索引 ${done} / ${total} 行。`,
  'search.timeLimit': () => '结果不完整：搜索已到时限。',

  'history.empty': () => '还没有消息。',
  'history.message': ({ position, role, text, calls }) => {
    const parts = [text, ...calls.map((name) => `（调用 ${name}）`)].filter((part) => part !== '');
    return `${position === null ? '  ' : `#${position} `}${ROLES[role] ?? role}：${parts.join(' ')}`;
  },
  'history.compaction': ({ summary }) => `-- 以上消息已压缩，发送给模型的是此摘要：${summary}`,
  'history.badCount': ({ value }) => `/history 需要大于 0 的整数，而不是“${value}”。请写：/history 20`,
  'tree.branch': ({ lines, isCurrent, name, text, messages }) =>
    `${lines}${isCurrent ? '*' : ' '} ${name} ${text}（${messages} 条消息）`,
  'tree.more': ({ branches }) => `…… 还有 ${branches} 个分支`,

  'undo.done': ({ what }) => `已撤销上一次：${STEPS[what]}。`,
  'undo.nothing': () => '没有可撤销的内容。',
  'redo.done': ({ what }) => `已恢复上一次：${STEPS[what]}。`,
  'redo.nothing': () => '没有可恢复的内容。',
  'retry.started': () => '正在重新生成，旧回答保留为分支（/tree）。',
  'edit.started': () => '已发送新内容，原消息保留为分支（/tree）。',
  'stop.done': ({ stopped, cancelled, children }) => {
    const parts = stopped ? ['已停止，已生成的部分回答已保存。'] : [];
    if (children > 0) parts.push(`已停止 ${children} 个子智能体。`);
    if (parts.length === 0) parts.push('没有正在进行的回答。');
    if (cancelled > 0) parts.push(`已取消 ${cancelled} 条排队的消息。`);
    return parts.join('');
  },

  'compact.nothing': () => '暂时没有可压缩的内容：消息太少，或者摘要不会更小。',
  'compact.done': ({ tokensBefore, tokensAfter }) => `已压缩：约 ${tokensBefore} → ${tokensAfter} 词元。`,
  'compact.preview': ({ coveredEntries, coveredTokens, keptEntries, keptTokens, from }) =>
    `将压缩 ${coveredEntries} 条（约 ${coveredTokens} 词元），从 ${from} 起的 ${keptEntries} 条（约 ${keptTokens} 词元）不变。`,
  'compact.noneInForce': () => '没有可撤销的压缩。',
  'compact.undone': () => '已撤销上次压缩，此后的各轮都保留。',

  'context.usage': ({ tokens, window, isPart }) =>
    `上下文：${isPart ? '超过' : '约'} ${tokens} / ${window} 词元`,
  'context.bar': ({ parts }) =>
    parts.map(({ name, tokens }) => `${PARTS[name] ?? name} ${tokens}`).join('，'),
  'context.historyTurns': ({ turns, unsentMessages }) =>
    `历史限制：发送最近 ${turns} 轮，不发送 ${unsentMessages} 条较早的消息`,
  'context.totals': ({ turns, tokens, cost }) =>
    `累计：${turns} 轮，${tokens} 词元${cost === null ? '' : `，费用 ${cost.toFixed(4)}`}`,

  'explain.turn': ({ turnId, status, requests, messages }) =>
    `轮次 ${turnId}：${STATUS[status] ?? status}，${messages} 条消息，${requests} 次请求。`,
  'explain.message': ({ inboxId, state, position, sender, channel, dropped }) => {
    const source = [position === null ? '消息' : `#${position}`, sender, channel].filter(Boolean).join(' · ');
    const ended = state === null ? '' : `，${STATUS[state] ?? state}`;
    const lists = dropped.length === 0 ? '' : `；包含已丢弃的消息：${dropped.join('、')}`;
    return `   ${source}：收件箱 ${inboxId}${ended}${lists}`;
  },
  'explain.call': ({ number, model, messages, tokens, usage, latencyMs }) => {
    const reported =
      usage === null ? '' : `，实际输入 ${usage.input}（缓存 ${usage.cached}）、输出 ${usage.output}`;
    return `${number}. ${model}，${messages} 条消息，约 ${tokens} 词元${reported}，${latencyMs} 毫秒`;
  },
  'explain.parts': ({ split }) => `   ${partsText(split)}`,
  'explain.verified': () => '   已验证：由历史重建的请求散列相同',
  'explain.unverified': () => '   未验证：指令、工具、模型或存储的内容此后有变化',
  'explain.summary': ({ entryId }) => `   摘要 ${entryId} 代替较早的消息`,
  'explain.shortened': ({ results }) => `   缩短了 ${results} 个工具结果`,
  'explain.cached': () => '   开头与上次请求完全相同，模型服务可用提示缓存处理这部分',
  'explain.cacheBreak': ({ cause }) => `   未用提示缓存：${CACHE_BREAKS[cause]}`,
  cacheBreak: ({ cause }) => CACHE_BREAKS[cause],

  'status.session': ({ name, facts }) => `${named(name)}\n${factsText(facts)}`,
  'status.queue': ({ isRunning, waiting, ...queue }) =>
    `队列：${queueText(queue)}；${isRunning ? '正在回答' : '空闲'}，${waiting} 条排队`,
  'status.turns': ({ turns, pins }) => `轮次：${turns}；已固定：${pins}`,
  'status.damaged': ({ offset }) => `在第 ${offset} 字节处损坏；/repair 用可读部分继续`,
  'model.current': ({ name, from, unavailable }) =>
    `模型：${name}，${CHOSEN_BY[from]}${unavailable === null ? '' : `（此会话指定的 ${unavailable} 在此不可用）`}`,
  'model.offer': ({ number, name, contextWindow, cost, isCurrent }) =>
    `${String(number).padStart(3)}${isCurrent ? '*' : ' '} ${name}${contextWindow === null ? '' : `，${contextWindow} 词元`}${cost === null ? '' : `，每百万词元输入 $${cost.input}、输出 $${cost.output}`}`,
  'model.choose': () => '选择模型：/model <编号或名称>；/model default 取消选择。',
  'model.demo': () =>
    '这是演示：离线模型只会重复您写的内容，并不理解。要使用真正的模型，请设置 ANTHROPIC_API_KEY 或 OPENAI_API_KEY。',
  'model.noChoice': () => '这里不能选择其他模型，模型由配置决定。',
  'model.unknown': ({ model }) => `没有模型“${model}”，模型未更改。可用的名称由打开引擎的程序决定。`,
  'queue.current': (queue) => `队列：${queueText(queue)}`,
  'queue.badWord': ({ word, modes, drops }) =>
    `/queue 不认识“${word}”，没有更改。模式：${modes.join('、')}。另有 debounce:2s、cap:25、drop:${drops.join('|')}、default。`,
  'pins.none': () => '没有固定的消息。/history 显示 /pin 所需的编号，例如 #3。',
  'pins.list': () => '已固定：',
  'pins.notPinned': ({ name }) => `“${name}”没有固定。/pin 列出固定的消息。`,
  'pins.ambiguous': ({ name, pins }) => `“${name}”符合 ${pins} 条固定的消息，请用编号，例如 #3。`,
};

function named(name: string): string {
  return name === '' ? '（无标题）' : name;
}

function factsText({ id, sessionKey, messages, minutesAgo, isDamaged }: SessionFacts): string {
  const size = messages === null ? '消息尚未计数' : `${messages} 条消息`;
  return `${id} · ${sessionKey} · ${size} · ${ago(minutesAgo)}${isDamaged ? ' · 已损坏' : ''}`;
}

function ago(minutes: number): string {
  if (minutes < 1) return '刚刚';
  if (minutes < 60) return `${minutes} 分钟前`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} 小时前`;
  return `${Math.round(minutes / 1440)} 天前`;
}

function partsText(split: Readonly<Record<string, number>>): string {
  return Object.entries(split)
    .map(([part, tokens]) => `${PARTS[part] ?? part} ${tokens}`)
    .join('，');
}

interface Queue {
  readonly mode: string;
  readonly debounceMs: number;
  readonly cap: number;
  readonly drop: string;
}

function queueText({ mode, debounceMs, cap, drop }: Queue): string {
  return `${mode} debounce:${debounceMs / 1000}s cap:${cap} drop:${drop}`;
}
