import type { CopyMessages, MessageTable } from 'reprise/client';

const COPY_AGAIN = '请用“reprise verify”检查源存储，然后重新复制到空的存储。';

export const CHINESE_COPIES: Pick<MessageTable, keyof CopyMessages> = {
  'copy.notEmpty': () => '复制的目标必须为空，而此存储中已有会话。请选择空的主目录或数据库。',
  'copy.otherRun': ({ run }) =>
    run === null
      ? '此存储没有未完成的复制。请再次运行复制命令：“reprise migrate”或“reprise backup restore”。'
      : `此存储是另一次复制的目标：${run}。请选择空的主目录或数据库。`,
  'copy.badCursor': () => '游标不属于此存储的复制。请用最后一批记录的游标，或不带游标重新开始。',
  'copy.badRecord': (record) => `复制的数据无效：${copyProblem(record)}。${COPY_AGAIN}`,
  'copy.lineChanged': ({ id, line }) => `会话 ${id} 第 ${line} 行与其校验和不符。${COPY_AGAIN}`,
  'copy.blobChanged': ({ id, blob }) => `会话 ${id} 的文件 ${blob} 与其哈希不符。${COPY_AGAIN}`,
  'copy.notUtf8': ({ id, line }) =>
    `会话 ${id} 第 ${line} 行不是有效的 UTF-8，而 PostgreSQL 存储需要它。请将此会话复制到 jsonl 或 sqlite 存储。`,
  'copy.notRead': ({ id }) =>
    `会话 ${id} 的文件中有索引尚未包含的行。请对源存储运行一次“reprise verify”，然后重新复制。`,
  'copy.openTransaction': ({ seconds }) =>
    `另一个连接向源存储写入消息已超过 ${seconds} 秒。请在 pg_stat_activity 中找到并结束其事务，然后重新复制。`,
  'export.stopped': ({ id }) => `会话 ${id} 的导出已停止，因为读取方断开了连接。请重新导出。`,
};

function copyProblem(record: CopyMessages['copy.badRecord']): string {
  switch (record.problem) {
    case 'noRecord':
      return `会话 ${record.id} 的行出现在会话本身之前`;
    case 'idTaken':
      return `有两个会话的编号是 ${record.id}`;
    case 'noLineEnd':
      return `会话 ${record.id} 第 ${record.line} 行不完整`;
    case 'noEntry':
      return `会话 ${record.id} 第 ${record.line} 行不是条目`;
    case 'unknownKind':
      return `有未知种类的记录 ${record.kind}`;
  }
}
