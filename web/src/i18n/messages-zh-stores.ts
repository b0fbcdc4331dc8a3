import type { LostTranscript, MessageTable, PostgresProblem, StoreMessages } from 'reprise/client';

const LOST: Readonly<Record<LostTranscript, string>> = {
  gone: '不见了',
  empty: '是空的',
  noHeader: '缺少文件头',
  otherSession: '属于另一个会话',
};

const KINDS = { link: '符号链接', folder: '文件夹', device: '管道或设备' };

const POSTGRES: Readonly<Record<PostgresProblem, string>> = {
  notAllowedIn: '服务器不允许此用户连接，请检查 pg_hba.conf 和存储网址',
  badPassword: '用户名或密码不正确，请检查存储网址',
  noPassword: '服务器要求密码，而存储网址中没有',
  serverUnproven: '服务器无法证明自己知道密码，可能不是所要的服务器',
  noLogin: '与服务器没有共同的密码验证方式，请检查存储网址',
  noDatabase: '没有此数据库，请用 createdb 创建，或更正存储网址',
  rowsChanged: '其他连接不断修改相同的行，请重试',
  rowsLocked: '其他连接不断锁定相同的行，请重试',
  rowLocked: '某行被锁定过久，请重试',
  noRights: '存储的用户没有此权限：需要数据库的 CREATE 权限，或自己的模式“reprise”',
  diskFull: '数据库服务器的磁盘已满，请释放空间后重试，无需重启',
  noMemory: '数据库服务器内存不足，请重试',
  noConnection: '数据库服务器没有空闲连接，请提高 max_connections 或降低 pool_max',
  slowStatement: '服务器取消了耗时过长的语句，请重试',
  starting: '数据库服务器正在启动或停止，请重试',
  poolInUse: '连接池中的连接都在使用，请提高 max_connections 或降低 pool_max',
  unreachable: '此地址没有数据库服务器响应，请确认它正在运行，并检查存储网址',
  connectionLost: '与服务器的连接已断开，请重试，无需重启',
  client: '连接的本端出错',
  pemFile: '无法读取存储网址中的证书文件，请更正 sslrootcert、sslcert 或 sslkey',
  noTls: '服务器不支持 TLS，请在服务器上启用（ssl=on）',
  certificateName: '服务器的证书属于另一个名称，请在存储网址中使用证书里的名称',
  certificateAuthority: '服务器的证书不是由受信任的机构签发，请用 sslrootcert 指定机构的证书',
  certificateDate: '服务器的证书已过期或尚未生效，请更新证书或校准时钟',
  tls: '无法建立加密连接，请检查 sslmode、sslrootcert、sslcert 和 sslkey',
  pooler: '中间有事务连接池，请在存储网址中加上“pooler=true”',
  readOnly: '数据库服务器不接受写入：它是副本或设为只读，请将存储网址改为主服务器',
  damaged: '服务器发现数据已损坏，请从备份恢复数据库',
  other: '数据库服务器报告了错误',
};

const OTHER_CURSOR = '请使用同一列表、同一排序的游标，或不带游标。';
const WAIT_OR_STOP = '请稍后重试，或先停止正在进行的回答。';

export const CHINESE_STORES: Pick<MessageTable, keyof StoreMessages> = {
  'session.unknown': ({ id }) => `没有会话 ${id}，可能已被删除。请在列表中选择其他会话。`,
  'session.trashed': ({ id }) => `会话 ${id} 在回收站中，恢复后可以继续。`,
  'session.notTrashed': ({ id }) => `会话 ${id} 不在回收站中。请先删除：只有已删除的会话可以永久删除。`,
  'session.purged': ({ id }) => `会话 ${id} 已被永久删除，无法恢复；之前的备份中仍有它。`,
  'session.idPurged': ({ id }) => `会话 ${id} 已被永久删除，其编号不能再用，请用其他编号。`,
  'session.notErased': ({ id, cause }) =>
    `会话 ${id} 已被永久删除，但其内容暂时还未从磁盘清除（${cause}）。存储会每 10 秒及下次打开时再试。`,
  'session.keyTaken': ({ id, key }) => `会话 ${id} 已存在，其键为 ${key}。请用其他编号，或使用该键。`,
  'session.keyMismatch': ({ id, key }) => `会话 ${id} 属于键 ${key}。请使用该键，或不指定会话。`,
  'session.resetExists': ({ id }) => `重置会新建会话，而会话 ${id} 已存在。请用其他编号。`,
  'session.fileTaken': ({ id, file }) =>
    `主目录中的 ${file} 不是会话 ${id} 的记录。“reprise verify”会说明它是什么；请导入或移走它，或用其他编号。`,
  'session.changed': () => '会话在读取之后已被更改，请查看后重试。',
  'session.leafMoved': ({ id }) => `会话 ${id} 在读取之后有了新消息或新分支，请查看后重试。`,
  'session.fenced': ({ id }) => `此进程已失去会话 ${id} 的租约，现在可能由另一个进程写入。请稍后重试。`,
  'session.leaseHeld': ({ id, pid }) => `进程 ${pid} 正在运行会话 ${id}。${WAIT_OR_STOP}`,
  'session.runnerHolds': ({ id }) => `会话 ${id} 正由另一个进程运行。${WAIT_OR_STOP}`,
  'session.foreignLock': ({ id, file, pid }) =>
    `${pid === null ? '另一个工具' : `进程 ${pid}`}用 ${file} 锁定了会话 ${id}。请关闭该工具或等它完成；如它已崩溃，请删除锁文件。`,
  'session.busy': ({ id }) => `会话 ${id} 已有等待或进行中的消息。请等待回答，或先停止。`,
  'session.queueFull': ({ id, waiting }) =>
    `会话 ${id} 已有 ${waiting} 条等待的消息，达到上限。请在部分消息得到回答后重试，或提高队列上限。`,
  'session.groupFull': ({ group, max }) => `组 ${group} 最多有 ${max} 条等待或进行中的消息，请稍后重试。`,
  'session.appendKeyReused': ({ key }) => `幂等键 ${key} 已用于另一次写入，新的写入请用新的键。`,
  'session.messageKeyReused': ({ key }) => `幂等键 ${key} 已用于另一条消息，新的消息请用新的键。`,
  'session.notRead': ({ id }) => `存储启动后仍在读取会话 ${id} 的记录，请稍后重试。`,
  'session.damaged': ({ id, offset }) =>
    `会话 ${id} 在第 ${offset} 字节处损坏。对话中的 /repair 或“reprise repair ${id}”用可读部分在新会话中继续。`,
  'session.damagedHeader': ({ id }) =>
    `会话 ${id} 存在，但其记录的文件头已损坏。“reprise repair ${id}”用可读部分在新会话中继续。`,
  'session.lostTranscript': ({ id, file, problem }) =>
    `会话 ${id} 的记录${LOST[problem]}。请从副本恢复 ${file}，或不用它继续：reprise repair ${id}`,
  'session.foreignTranscript': ({ id, other }) =>
    `会话 ${id} 的文件是另一个会话 ${other} 的记录。请从副本恢复该文件，或不用它继续：reprise repair ${id}`,
  'session.notAFile': ({ id, file, kind }) =>
    `会话 ${id} 的记录是${KINDS[kind]}，不是文件。请移走 ${file}；没有写入任何内容。`,
  'session.unreadable': ({ id, reason }) =>
    `无法读取会话 ${id} 的记录：${reason}。请检查磁盘和文件权限后重试。`,
  'session.lostParts': ({ id, parts }) =>
    `会话 ${id} 有 ${parts} 个较大的部分丢失或损坏。请恢复备份，或用 lost=preview 导出其余内容。`,
  'session.exportDamaged': ({ id, line }) =>
    `会话 ${id} 在第 ${line} 行之后损坏。请重新导出，将包含所有可读内容。`,
  'session.exportGone': ({ id }) => `会话 ${id} 的记录不见了。请从副本恢复文件，或将备份恢复到另一个主目录。`,
  'session.locked': ({ id }) => `会话 ${id} 被另一个进程锁定，或数据库服务器没有响应，请重试。`,
  'blob.missing': ({ id, blob }) => `会话 ${id} 没有文件 ${blob}。`,
  'blob.damaged': ({ id, blob }) => `会话 ${id} 的文件 ${blob} 已损坏，请从备份恢复。`,
  'blob.notWritten': ({ problem }) => `消息的较大部分无法写入：${problem}。请检查磁盘和主目录的权限后重试。`,
  'inbox.missing': ({ inboxId }) => `收件箱中没有消息 ${inboxId}。`,
  'list.badCursor': () => `游标不属于此列表。${OTHER_CURSOR}`,
  'list.badSort': ({ sort, allowed }) => `会话不能按“${sort}”排序，可用：${allowed.join('、')}。`,
  'list.badOrder': ({ order }) => `没有排序方式“${order}”，请用 asc 或 desc。`,
  'search.badCursor': () => `游标不属于此搜索。${OTHER_CURSOR}`,
  'search.tooLong': ({ characters, max }) =>
    `搜索内容有 ${characters} 个字符，最多 ${max} 个。请只搜索其中一部分。`,
  'store.closed': () => '存储已关闭，请重新打开。',
  'store.onlyRead': () => '存储以只读方式打开，无法写入。',
  'store.folderReadOnly': ({ folder }) =>
    `${folder} 无法写入，因此存储以只读方式打开。请使其可写（挂载、所有者、权限、chattr）后重试。`,
  'store.copyUnfinished': ({ run }) => `向此存储的复制尚未完成：${run}。请再次运行复制命令，会从中断处继续。`,
  'store.locked': ({ seconds }) =>
    `存储被另一个进程锁定了 ${seconds} 秒，请重试。“reprise locks”列出使用它的进程。`,
  'store.moved': () => '存储的文件在打开期间被移动或替换。请重试，将打开现有的文件。',
  'store.stillOpen': ({ file }) =>
    `另一个进程打开着 ${file}，但缺少 -wal 或 -shm 文件。请等该进程结束，或结束它（“lsof ${file}”可查到），然后重试。`,
  'store.newer': ({ schema, known, canRead }) =>
    `control.db 的版本为 ${schema}，此版本只认识 ${known}：${canRead ? '可以读取，不能写入' : '无法读取'}。请使用写入它的版本或更新的版本。`,
  'store.noSpace': ({ freeBytes, minFreeBytes, folder }) =>
    `存储的磁盘剩余 ${freeBytes} 字节，至少需要 ${minFreeBytes} 字节。请在${folder === null ? '存储' : ` ${folder} `}所在的磁盘释放空间，“reprise prune”列出可清除的内容。`,
  'store.failed': ({ problem, message, folder }) => {
    const place = folder === null ? '其文件夹' : ` ${folder} `;
    switch (problem) {
      case 'openFiles':
        return '存储出错：打开的文件过多。请提高限制（ulimit -n）或关闭一些文件，然后重试，无需重启。';
      case 'readOnly':
        return `存储出错：${message}。请使${place}可写（挂载、所有者、权限、chattr），然后重试，无需重启。`;
      case 'corrupt':
        return `存储出错：${message}。请关闭使用此主目录的所有进程再重新打开，可读内容会被抢救。`;
      case 'full':
        return `存储出错：${message}。请在${place}所在的磁盘释放空间后重试，“reprise prune”列出可清除的内容。`;
      default:
        return `存储出错：${message}。请重试。`;
    }
  },
  'store.threadDied': () => '存储线程意外停止，已启动新线程，请重试。',
  'store.threadsDied': ({ times, seconds }) =>
    `存储线程在 ${seconds} 秒的工作中意外停止了 ${times} 次。请关闭存储，查明原因后重新打开。`,
  'store.memoryLost': () => '存储线程意外停止，此内存存储中的会话已丢失。要保留会话，请使用磁盘上的存储。',
  'postgres.failed': ({ problem, message }) =>
    `PostgreSQL 存储出错：${POSTGRES[problem]}${message === null ? '' : `（${message}）`}。`,
  'postgres.newer': ({ schema, known }) =>
    `数据库的版本为 ${schema}，此版本只认识 ${known}：由更新的版本写入。请更新此机器上的 Reprise。`,
  'postgres.older': ({ schema, known }) =>
    `数据库的版本为 ${schema}，此版本需要 ${known}，而只读存储不会升级它。请对它运行一次“reprise verify”，或使用写入它的版本。`,
  'postgres.noStore': () => '此数据库中没有存储，请检查存储网址。',
  'postgres.tooOld': ({ version }) =>
    `PostgreSQL 服务器的版本 ${Math.trunc(version / 10_000)} 过旧，请使用 14 或更新的版本。`,
  'postgres.encoding': ({ encoding }) =>
    `数据库的编码为 ${encoding}，存储需要 UTF8，请用 ENCODING 'UTF8' 创建。`,
  'postgres.replica': () => '数据库服务器是副本，无法写入，请将存储网址改为主服务器。',
};
