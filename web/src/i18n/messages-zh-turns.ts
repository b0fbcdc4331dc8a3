import type { MessageTable, TurnMessages } from 'reprise/client';

const PARTS = { text: '个文字字符', context: '个附加说明字符', images: '张图片' };

const ENDS: Readonly<Record<string, string>> = {
  cancelled: '已取消',
  dropped: '被丢弃',
  interrupted: '被中断',
  failed: '处理失败',
};

export const CHINESE_TURNS: Pick<MessageTable, keyof TurnMessages> = {
  'turn.answerTooLong': ({ max }) => `回答超过 ${max} 个字符，其余部分已截去。请每次少问一些，或让模型继续。`,
  'turn.tooManySteps': ({ max }) => `这一轮调用模型超过 ${max} 次。请让模型继续，或提高设置 maxSteps。`,
  'turn.stuck': ({ seconds }) =>
    `这一轮 ${seconds} 秒没有进展。请重新发送；如果某个工具没有响应，请为它设置超时。`,
  'turn.stopped': () => '已停止。',
  'turn.timeLimit': () => '任务的时限已到。',
  'turn.interrupted': () => '较新的消息中断了这一轮。',
  'turn.toolInterrupted': () => '工具运行时进程结束了，没有再次运行该工具。发送新消息即可继续对话。',
  'turn.crashLoop': ({ attempts }) =>
    `尝试 ${attempts} 次都以崩溃告终，已放弃。请换一种方式重新发送，或在日志中查找崩溃原因。`,
  'turn.endedAs': ({ status }) => `这一轮以 ${status} 结束。`,
  'turn.tooLarge': ({ tokens, budget }) =>
    `最后一条消息和系统提示约有 ${tokens} 词元，上下文窗口只能容纳 ${budget}。请减少发送的内容，或用 /model 选择窗口更大的模型。`,
  'turn.takenOver': () => '此会话已由另一个进程接管。请在那里继续，或重试。',
  'task.stoppedWithParent': () => '任务已随发起它的会话一起停止。',
  'task.cancelled': () => '任务在结束前被取消。',
  'task.notStarted': () => '子智能体开始之前，这一轮已停止。',
  'engine.closed': () => '引擎已关闭，请重新打开。',
  'engine.closedEarly': ({ inboxId }) =>
    `消息 ${inboxId} 得到回答之前，引擎已关闭。请用相同的幂等键重新发送，或按收件箱编号查询状态。`,
  'message.empty': () => '消息为空，请发送文字或图片。',
  'message.tooLong': ({ part, length, max }) =>
    `消息有 ${length} ${PARTS[part] ?? ''}，最多允许 ${max}。请分几次发送，或放入文件。`,
  'message.badImage': () =>
    '消息中的图片格式不明。请发送 {data, mimeType}（data 为 base64），或 base64 数据 URL。',
  'message.notObject': () => '消息不是对象。请发送 {"text": "…", "channel": "…"}。',
  'message.endedAs': ({ state }) => `消息${ENDS[state] ?? `以 ${state} 结束`}。`,
  'message.dropped': () => '会话的队列已满，这条消息被丢弃。请在部分消息得到回答后重新发送。',
  'message.ownOutput': ({ by }) =>
    `不回答这条消息：${by === 'account' ? '它来自智能体自己的账户' : '它与智能体自己说过的话相同'}。`,
  'command.interrupted': () => '命令运行时进程结束了，请重新发送命令。',
  'turn.usage': ({ input, output, cacheRead, cacheWrite, cost }) => {
    const parts = [`输入 ${input}`, `输出 ${output}`];
    if (cacheRead !== null) parts.push(`读缓存 ${cacheRead}`);
    if (cacheWrite !== null) parts.push(`写缓存 ${cacheWrite}`);
    if (cost !== null) parts.push(`费用 ${cost >= 1 ? cost.toFixed(2) : Number(cost.toPrecision(2))}`);
    return `词元：${parts.join('，')}`;
  },
  'idempotency.keyReused': () => '此幂等键已用于另一个请求，新请求请用新的键。',
  'send.denied': ({ sessionKey, channel }) =>
    `发送策略不允许 ${sessionKey} 接收来自 ${channel} 的消息。请更改 session.sendPolicy，或将会话的 sendPolicy 设为“allow”。`,
  'agent.missing': ({ agentId, known }) =>
    `没有智能体 ${agentId}。已配置：${known.join('、')}。要添加它："agents": { "${agentId}": {} }`,
  'agent.otherAgent': ({ agentId, given }) =>
    `此会话属于智能体 ${agentId}，而不是 ${given}。请去掉 agentId，或指定会话的智能体。`,
  'session.otherKey': ({ sessionId, sessionKey }) =>
    `会话 ${sessionId} 属于键 ${sessionKey}。请去掉 sessionKey，或使用会话的键。`,
  'session.noDamage': ({ sessionId }) => `会话 ${sessionId} 没有损坏。没有任何更改，可以继续使用。`,
  'session.idTaken': ({ sessionId, source }) =>
    `会话 ${sessionId} 已存在，且不是 ${source} 的副本。请去掉编号，或换一个。`,
  'prune.indexing': () => '会话索引仍在重建，还不知道哪些会话最旧。请在“reprise doctor”报告索引完成后重试。',
};
