import { ZH_TOLD } from './strings-zh-told.ts';

/** Parts of the context, settings and groups, as single words within an answer. */
const WORDS: Readonly<Record<string, string>> = {
  system: '指令',
  tools: '工具',
  summary: '摘要',
  history: '之前的消息',
  newest: '最后的消息',
  overhead: '服务商添加的内容',
  'kept free': '预留',
  turn: '一轮',
  compaction: '总结',
  reset: '重置',
  branch: '分支',
  conversation: '对话',
  sessions: '会话',
  context: '上下文',
  settings: '设置',
  other: '其他',
  done: '完成',
  aborted: '已停止',
  error: '失败',
  accepted: '等待中',
  running: '进行中',
  merged: '已合并',
  failed: '失败',
  cancelled: '已取消',
  dropped: '已丢弃',
  interrupted: '已中断',
  'as configured': '按配置',
};

const word = (text: string): string => WORDS[text] ?? text;
const words = (list: string): string =>
  list.replace(/([a-z][a-z ]*) ([\d,]+)/gi, (_all, name: string, n: string) => `${word(name)} ${n}`);

const agoInChinese = (ago: string): string =>
  ago
    .replace('just now', '刚刚')
    .replace(/ min ago$/, ' 分钟前')
    .replace(/ h ago$/, ' 小时前')
    .replace(/ days ago$/, ' 天前');

type Say = (...parts: string[]) => string;

/** What commands answer, line by line. Numbers, names and what was said stay. */
const NOTES: readonly (readonly [RegExp, Say])[] = [
  [/^Nothing to undo\.$/, () => '没有可撤销的内容。'],
  [/^Nothing to redo\.$/, () => '没有可恢复的内容。'],
  [/^Took back the last compaction; every turn since is kept\.$/, () => '已撤销上次总结，此后的各轮都保留。'],
  [/^Took back the last (.+)\.$/, (what = '') => `已撤销上一次：${word(what)}。`],
  [/^Brought back the last (.+)\.$/, (what = '') => `已恢复上一次：${word(what)}。`],
  [
    /^Once more; the old answer stays as a branch \(\/tree\)\.$/,
    () => '重新回答，旧回答保留为分支（/tree）。',
  ],
  [/^Said anew; what was there stays as a branch \(\/tree\)\.$/, () => '已改写，原内容保留为分支（/tree）。'],
  [/^Nothing to gain by it yet\.$/, () => '暂时没有必要。'],
  [/^Compacted: (~\d+) -> (~\d+) tokens\.$/, (a = '', b = '') => `已总结：${a} → ${b} 词元。`],
  [
    /^Would sum up ([\d,]+) entries \((~[\d,]+) tokens\) and keep ([\d,]+) \((~[\d,]+) tokens\), from (\S+) on(, inside a long turn)?\.$/,
    (a = '', b = '', c = '', d = '', id = '') =>
      `将总结 ${a} 条（${b} 词元），从 ${id} 起保留 ${c} 条（${d} 词元）。`,
  ],
  [/^No compaction is in force\.$/, () => '没有生效的总结。'],
  [
    /^A new session(?:, "(.*)")?; the old one is kept\.$/,
    (name = '') => `新会话${name && `“${name}”`}，旧会话保留。`,
  ],
  [/^No sessions\.$/, () => '没有会话。'],
  [/^No session has "(.*)" in its name\.$/, (name = '') => `没有名称含“${name}”的会话。`],
  [
    /^(?:Still|Now) in "(.*)": ([\d,]+) messages? \((\S+)\)\.$/,
    (name = '', n = '', id = '') => `当前会话“${name}”：${n} 条消息（${id}）。`,
  ],
  [
    /^Now in a copy of this session, (\S+); the original is kept\.$/,
    (id = '') => `已转到副本 ${id}，原会话保留。`,
  ],
  [/^Nothing was deleted\.$/, () => '没有删除任何内容。'],
  [
    /^Moved "(.*)" \((\S+), ([\d,]+) messages?\) to the trash\.$/,
    (name = '', id = '', n = '') => `已将“${name}”（${id}，${n} 条消息）移到回收站。`,
  ],
  [/^Nothing holds "(.*)"\.$/, (text = '') => `没有找到“${text}”。`],
  [/^To read on there: (.*)$/, (command = '') => `继续阅读：${command}`],
  [
    /^There are more than (\d+); (".*") shows them\.$/,
    (n = '', command = '') => `超过 ${n} 条；用 ${command} 查看全部。`,
  ],
  [
    /^The time was over before everything was looked at; there may be more\.$/,
    () => '时间已到，尚未查完，可能还有更多。',
  ],
  [/^Indexing (\d+) %: there may be more\.$/, (n = '') => `正在建立索引（${n} %），可能还有更多。`],
  [/^"(.*)" is not damaged\.$/, (name = '') => `“${name}”没有损坏。`],
  [/^This session is "(.*)" now\.$/, (name = '') => `此会话现名“${name}”。`],
  [/^(?:Model|model): (.*?)\.?$/, (name = '') => `模型：${word(name)}`],
  [/^Queue: (.*)\.$/, (queue = '') => `队列：${queue}`],
  [
    /^queue: (.*); (a turn is running|idle), ([\d,]+) waiting$/,
    (queue = '', state = '', n = '') =>
      `队列：${queue}；${state === 'idle' ? '空闲' : '正在回答'}，${n} 条等待`,
  ],
  [/^turns: ([\d,]+); pinned: ([\d,]+)$/, (turns = '', pins = '') => `轮次：${turns}；已固定：${pins}`],
  [
    /^Nothing is pinned\. \/history shows the positions \/pin takes, such as (#\d+)\.$/,
    () => '没有固定的消息。/history 显示 /pin 所需的编号。',
  ],
  [
    /^(.* · )([\d,]+) messages? · (.*)$/,
    (facts = '', n = '', ago = '') => `${facts}${n} 条消息 · ${agoInChinese(ago)}`,
  ],
  [
    /^(.* \(\S+), line (\d+); (\w+, [\d-]+ [\d:]+\))$/,
    (name = '', n = '', rest = '') => `${name}，第 ${n} 行；${rest}`,
  ],
  [/^… ([\d,]+) (?:more|older lines)$/, (n = '') => `…… 还有 ${n} 行`],
  [/^Pinned:$/, () => '已固定：'],
  [/^Nothing was said here yet\.$/, () => '这里还没有内容。'],
  [
    /^Context usage: (more than |~)([\d,]+) \/ ([\d,]+) tokens$/,
    (about = '', n = '', all = '') => `上下文：${about === '~' ? '约' : '超过'} ${n} / ${all} 词元`,
  ],
  [
    /^used so far: ([\d,]+) tokens in ([\d,]+) turns?(?:, cost (\S+))?$/,
    (n = '', turns = '', cost = '') => `累计：${turns} 轮，${n} 词元${cost && `，费用 ${cost}`}`,
  ],
  [
    /^( *)((?:system|tools|summary|history|newest|overhead) [\d,]+, .*)$/,
    (space = '', list = '') => space + words(list),
  ],
  [/^([a-z]+):$/, (group = '') => `${word(group)}：`],
  [
    /^ {2}(\/([a-z]+)\b.*?) {2,}\S.*$/,
    (usage = '', name = '') => `  ${usage.padEnd(36)}  ${ZH_TOLD[`/${name}`] ?? ''}`,
  ],
  [
    /^Everything else is a message; \/\/ begins one with a slash\.$/,
    () => '其余都是消息；// 开头的消息以一个斜杠开始。',
  ],
  [
    /^There is no command \/(\S+)\. (?:Did you mean \/(\S+)\?|.*list.*there is\.) Two slashes begin a message with one\.$/,
    (name = '', near = '') =>
      `没有命令 /${name}。${near === '' ? '/help 列出所有命令。' : `是否要用 /${near}？`}两个斜杠开头的消息以一个斜杠开始。`,
  ],
  [
    /^Turn (\S+): (\S+), ([\d,]+) requests? for ([\d,]+) messages?\.$/,
    (id = '', status = '', n = '', messages = '') =>
      `轮次 ${id}：${word(status)}，${messages} 条消息，${n} 次请求。`,
  ],
  [
    /^ {3}(#\d+|a message)(?: from (.+?))?(?: on (.+?))?: inbox (\S+), (\w+)(?:; lists .*: (.*))?$/,
    (position = '', sender = '', channel = '', row = '', state = '', dropped = '') => {
      const name = [position === 'a message' ? '消息' : position, sender, channel]
        .filter(Boolean)
        .join(' · ');
      return `   ${name}：收件箱 ${row}，${word(state)}${dropped && `；包含已丢弃的消息：${dropped}`}`;
    },
  ],
  [
    /^(\d+\. .*), ([\d,]+) messages?, (~[\d,]+) tokens(?:, reported ([\d,]+) in \(([\d,]+) cached\) and ([\d,]+) out)?, ([\d,]+) ms$/,
    (model = '', n = '', tokens = '', input = '', cached = '', out = '', ms = '') =>
      `${model}，${n} 条消息，${tokens} 词元${input && `，实际输入 ${input}（缓存 ${cached}）、输出 ${out}`}，${ms} 毫秒`,
  ],
  [
    /^( *)proved: made again from the history it has the same hash$/,
    (space = '') => `${space}已验证：由历史重建，散列相同`,
  ],
  [/^( *)not proved: .*$/, (space = '') => `${space}未验证：设置或内容此后有变化`],
  [
    /^( *)the summary of (\S+) stood for older messages$/,
    (space = '', id = '') => `${space}摘要 ${id} 代表较早的消息`,
  ],
  [/^( *)(\d+) tool results were shortened$/, (space = '', n = '') => `${space}缩短了 ${n} 个工具结果`],
  [/^( *)begins with the request before it: .*$/, (space = '') => `${space}以上次请求开头，可使用提示缓存`],
  [
    /^( *)the prompt cache began anew: (.*)$/,
    (space = '', why = '') => `${space}提示缓存重新开始：${ZH_TOLD[why] ?? why}`,
  ],
];

/** Several short sentences stand on one line. */
const STOPPED: readonly (readonly [RegExp, string])[] = [
  [/Stopped; what arrived is kept\./, '已停止，收到的内容保留。'],
  [/(\d+) (?:child|children) stopped\./, '已停止 $1 个子会话。'],
  [/Nothing is running\./, '没有正在进行的回答。'],
  [/(\d+) waiting, now cancelled\./, '已取消 $1 条等待的消息。'],
];

function line(text: string): string {
  for (const [form, say] of NOTES) {
    const found = form.exec(text);
    if (found !== null) return say(...found.slice(1));
  }
  return STOPPED.reduce((told, [form, say]) => told.replace(form, say), text);
}

/** What a command answered; lines that are not known stay as they are. */
export function noteInChinese(text: string): string {
  return text.split('\n').map(line).join('\n');
}
