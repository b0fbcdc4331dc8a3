import type { ConversationMessages, MessageTable } from 'reprise/client';

const STEPS: Readonly<Record<string, string>> = { compaction: '压缩', reset: '重置' };

export const CHINESE_CONVERSATIONS: Pick<MessageTable, keyof ConversationMessages> = {
  'session.empty': () => '此会话还没有消息，请先发送一条。',
  'entry.missing': ({ entry }) => `此会话中没有“${entry}”。请用编号指定消息，例如 #3：/history 会列出编号。`,
  'entry.ambiguous': ({ entry, entries }) =>
    `“${entry}”符合 ${entries} 项。请用编号指定消息，例如 #3：/history 会列出编号。`,
  'turn.running': () => '正在回答，请等待，或用 /stop 停止。',
  'turn.missing': ({ turn, turns }) => `没有轮次“${turn}”。此会话有 ${turns} 轮，从 1 开始。`,
  'turn.ambiguous': ({ turn, matches }) => `“${turn}”符合 ${matches} 个轮次，请写出更多编号。`,
  'undo.tooLarge': ({ tokens, budget }) =>
    `撤销压缩会恢复约 ${tokens} 词元，但只能容纳 ${budget}。请从某条消息复制会话，选择窗口更大的模型，或仍然撤销：在聊天中输入“/undo anyway”，或运行“reprise undo --anyway”；下一轮会再次压缩。`,
  'session.missing': ({ ref, isTrash }) =>
    isTrash
      ? `回收站中没有会话“${ref}”。“reprise ls --deleted”列出回收站。`
      : `没有会话“${ref}”。/sessions 列出所有会话。`,
  'session.ambiguous': ({ ref, sessions, shown }) =>
    `“${ref}”符合 ${sessions} 个会话，请写出其中一个的更多内容：\n${shown.join('\n')}${sessions > shown.length ? `\n…… 还有 ${sessions - shown.length} 个` : ''}`,
  'session.notInList': ({ ref, listed }) =>
    `没有会话 ${ref}：${listed === null ? '这里还没有列出会话' : `上次列出了 ${listed} 个会话`}。/sessions 列出会话和编号，也可以用名称或 ID。`,
  'session.listNumber': ({ ref }) =>
    `“${ref}”不是会话：列表编号只能在对话中使用。请用 ID 或名称，或 @last、@-2。`,
  'message.missing': ({ position, messages }) =>
    `没有消息 #${position}：当前分支有 ${messages} 条消息。/history 显示每条消息的编号。`,
  'entry.noText': ({ entry }) => `${entry} 没有文字，请选择含文字的消息。`,
  'pins.tooLarge': ({ tokens, max }) =>
    `固定的消息将有约 ${tokens} 词元，最多 ${max}。请先取消固定其他消息。`,
  'retry.afterStep': ({ what }) => `最后一步是${STEPS[what] ?? what}，不是消息。请先用 /undo 撤销。`,
  'retry.afterNote': ({ note }) =>
    `最后一项是记录（${note}），不是消息。请发送新消息，或用 /undo 撤销该记录及之后的内容。`,
  'turn.none': () => '此会话还没有轮次，请先发送一条消息。',
  'turn.unexpected': ({ problem }) => `意外错误：${problem}`,
  'model.notConfigured': ({ model }) => `模型 ${model} 未配置。请配置它，或用 /model 选择其他模型。`,
  'model.slow': ({ model, seconds }) =>
    `模型 ${model} 在 ${seconds} 秒内没有加载。请重新发送，或用 /model 选择其他模型。`,
};
