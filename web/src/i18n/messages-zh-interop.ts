import type { BackupDamage, FileProblem, InteropMessages, MessageTable } from 'reprise/client';

const ONLY_ZEROCLAW =
  '可导入的 SQLite 数据库：opencode、OpenClaw 2026.9、ZeroClaw（session_messages 表）、LangChain、OpenAI Agents SDK。';
const COPY_AGAIN = '请停止使用该数据库的程序并重新复制，或从备份恢复，然后再次导入。';

export const CHINESE_INTEROP: Pick<MessageTable, keyof InteropMessages> = {
  'export.storeFile': ({ path, home }) =>
    `${path} 是 ${home} 中存储的文件。请选择该文件夹之外的文件；--force 不会替换存储的文件。`,
  'export.folderNotEmpty': ({ path }) =>
    `文件夹 ${path} 不为空。请选择新文件夹，或加上 --force 替换其中的文件。`,
  'export.fileExists': ({ path }) => `文件 ${path} 已存在。请选择其他文件，或加上 --force 替换它。`,
  'export.notWritten': ({ path, problem, errno }) =>
    problem === 'diskFull'
      ? `无法写入 ${path}：磁盘已满。请释放空间后重新导出。`
      : `无法写入 ${path}：${errno}。请确认文件夹存在，且此用户可以写入。`,
  'export.longFolder': ({ folder, max }) =>
    `路径 ${folder} 超过 ${max} 个字符。请选择路径较短的文件夹，或用 --out 写入文件。`,
  'export.notReadBack': ({ file, missing }) =>
    `${file} 已写入，但读回时缺少 ${missing} 条消息，因此已删除。请报告此问题并附上会话：reprise export <ref> --redact`,
  'export.unknownLayout': ({ layout, known }) => `没有导出布局 ${layout}。可用：${known.join('、')}。`,
  'import.notRead': (params) => `无法读取 ${fileText(params)}。请检查路径，并确认此用户可以读取该文件。`,
  'import.changing': ({ path }) => `复制 ${path} 时它一直在变化。请停止使用该数据库的程序，然后再次导入。`,
  'import.unknown': ({ path }) =>
    `${path} 中没有已知工具的文件。请指定会话记录，或 claw0、ZeroClaw、OpenClaw、ZyHive 的文件夹，其中有“agents”“workspace”或“sessions.db”。`,
  'import.notTranscript': ({ path, lines }) =>
    `${path} 不是会话记录：${lines === 0 ? '文件为空' : `${lines} 行中没有一行是已知格式的记录`}。请指定会话记录：每行一个 JSON 对象。docs/interop.md 列出了可读取的格式。`,
  'import.noMessages': ({ path }) => `${path} 中没有消息，没有导入任何内容。请确认文件是否正确。`,
  'import.noContent': ({ path, messages }) =>
    `${path} 有 ${messages} 条消息，但没有可读取的文字或图片。它可能来自尚不能导入的工具或版本。没有从中导入任何内容。`,
  'import.ownHome': ({ path }) =>
    `${path} 是 Reprise 的主目录，不是其他工具的数据。要复制其中的会话，请先按 OpenClaw 的布局导出（导入所需的内容都在其中）：reprise export --all --profile clawdbot --out DIR --home ${path}；然后运行：reprise import DIR`,
  'import.ownBackup': ({ path }) =>
    `${path} 是 Reprise 的备份，不是会话记录。请恢复到空的主目录：reprise backup restore ${path} --home <空文件夹>`,
  'import.damagedZip': ({ path }) => `${path} 不是可以解压的 ZIP 文件。${COPY_AGAIN}`,
  'import.zipBomb': ({ path, name, max }) =>
    `${path} 中的 ${name} 解压后超过 ${max} 字节，远大于其压缩大小。没有从中导入任何内容；如果信任它，请自行解压，再导入该文件夹。`,
  'import.damagedDatabase': ({ path, reason }) => `SQLite 数据库 ${path} 已损坏（${reason}）。${COPY_AGAIN}`,
  'import.cutDatabase': ({ path, bytes, expected }) =>
    `SQLite 数据库 ${path} 不完整：应有 ${expected} 字节，只有 ${bytes} 字节。${COPY_AGAIN}`,
  'import.missingColumns': ({ path, columns }) =>
    `${path} 不是 ZeroClaw 的数据库：session_messages 表缺少列 ${columns.join('、')}。${ONLY_ZEROCLAW}`,
  'import.otherDatabase': ({ path, shown, tables }) =>
    `${path} 不是已知工具的数据库：${tables === 0 ? '其中没有表' : `其中的表为 ${shown.join('、')}${tables > shown.length ? `，还有 ${tables - shown.length} 个` : ''}`}。${ONLY_ZEROCLAW}`,
  'backup.notRead': (params) => `无法读取 ${fileText(params)}。请检查备份的路径。`,
  'backup.notBackup': ({ path }) => `${path} 不是 Reprise 的备份。请指定“reprise backup”写入的文件。`,
  'backup.newer': ({ path, version, known }) =>
    `备份 ${path} 的版本为 ${version}，此 Reprise 只能读取版本 ${known}。请使用写入它的版本或更新的版本。`,
  'backup.tooLong': ({ limit, offset, max }) =>
    `第 ${offset} 字节处的${limit === 'line' ? '行' : '记录'}超过 ${max} 字节，Reprise 的备份中不会出现。请检查文件的来源。没有恢复任何内容。`,
  'backup.damaged': (params) =>
    `备份在第 ${params.offset} 字节附近损坏：${backupProblem(params)}。请使用该文件的其他副本。没有从中恢复任何内容。`,
  'migrate.sourceBusy': () =>
    '其他进程写入来源存储的速度比复制更快。请停止它们，再次运行同一命令，会从中断处继续。',
  'migrate.sourceInUse': ({ id, pid }) =>
    `来源存储的会话 ${id} 正在${pid === null ? '' : `由进程 ${pid} `}使用。请停止该进程（“reprise locks”会列出），然后再次运行同一命令。`,
  'migrate.sourceUnfinished': ({ run }) =>
    `来源存储本身是尚未完成的复制：${run}。请先再次运行它的命令，完成该复制。`,
  'migrate.targetUsed': ({ run, finished }) =>
    `目标存储中已有${run === null ? '会话' : `${finished ? '另一次复制' : '另一次尚未完成的复制'}：${run}`}。请选择空的文件夹或数据库。没有更改任何内容。`,
  'migrate.diverged': () =>
    '此迁移早已完成，此后两个存储各自有了更改。请使用其中一个；要再次复制，请选择空的文件夹或数据库。',
};

function fileText({
  path,
  problem,
  errno,
}: {
  readonly path: string;
  readonly problem: FileProblem;
  readonly errno: string | null;
}): string {
  const reasons: Readonly<Record<FileProblem, string>> = {
    missing: '它不存在',
    notFile: '它不是普通文件',
    link: '它是符号链接',
    diskFull: '磁盘已满',
    other: errno ?? '原因未知',
  };
  return `${path}：${reasons[problem]}`;
}

function backupProblem({ problem, record, field, session, line, found, expected }: BackupDamage): string {
  switch (problem) {
    case 'notJson':
      return '有一行不是 JSON 对象';
    case 'noTime':
      return '第一行没有写明备份的时间';
    case 'unknownRecord':
      return `没有 ${record} 这种记录`;
    case 'wrongField':
      return `类型为 ${record} 的记录没有有效的“${field}”`;
    case 'noLines':
      return `会话 ${session} 的行数无效`;
    case 'noBlobBytes':
      return `会话 ${session} 的一个附件没有内容`;
    case 'otherBlobBytes':
      return `会话 ${session} 的一个附件与其哈希不符`;
    case 'brokenLine':
      return `会话 ${session} 的第 ${line} 行与其封印不符`;
    case 'recordCount':
      return `应有 ${expected} 条记录，实有 ${found} 条`;
    case 'otherBytes':
      return '内容与校验和不符';
    case 'endsEarly':
      return '缺少结尾';
    case 'endsInLine':
      return '在一行的中间结束';
    case 'endsInSession':
      return '在一个会话的中间结束';
    case 'afterEnd':
      return '结尾之后还有数据';
    default:
      return problem satisfies never;
  }
}
