import type { DatabaseDamage, LostTranscript, MessageTable, StoreMessages } from 'reprise/client';

const LOST: Readonly<Record<LostTranscript, string>> = {
  gone: '不见了',
  empty: '是空的',
  noHeader: '缺少文件头',
  otherSession: '属于另一个会话',
};

const DAMAGE: Readonly<Record<DatabaseDamage, string>> = {
  gone: '文件缺失或为空',
  pages: '数据页不一致',
  noVersion: '其中没有版本号',
  otherTables: '缺少此版本应有的表或列',
};

const KINDS = { link: '符号链接', folder: '文件夹', device: '管道或设备' };

const OTHER_CURSOR = '请使用同一列表、同一排序的游标，或不带游标。';
const waitOrStop = (id: string): string => `请稍后重试，或先停止正在进行的回答：“reprise stop ${id}”。`;

export const CHINESE_STORES: Pick<MessageTable, keyof StoreMessages> = {
  'session.unknown': ({ id }) => `没有会话 ${id}，可能已被删除。请在列表中选择其他会话。`,
  'session.trashed': ({ id }) => `会话 ${id} 在回收站中，恢复后可以继续。`,
  'session.notTrashed': ({ id }) => `会话 ${id} 不在回收站中。请先删除：只有已删除的会话可以永久删除。`,
  'session.purged': ({ id }) => `会话 ${id} 已被永久删除，无法从此主目录恢复；只有删除之前的备份中仍有它。`,
  'session.idPurged': ({ id }) => `会话 ${id} 已被永久删除，其编号不能再用，请用其他编号。`,
  'session.notErased': ({ id, cause }) =>
    `会话 ${id} 已被永久删除，但其内容暂时还未从磁盘清除（${cause}）。存储会每 10 秒及下次打开时再试。`,
  'session.keyTaken': ({ id, key }) => `会话 ${id} 已存在，其键为 ${key}。请用其他编号，或使用该键。`,
  'session.keyMismatch': ({ id, key }) => `会话 ${id} 属于键 ${key}。请使用该键，或不指定会话。`,
  'session.resetExists': ({ id }) => `重置会新建会话，而会话 ${id} 已存在。请用其他编号。`,
  'session.fileTaken': ({ id, file }) =>
    `主目录中的 ${file} 不是会话 ${id} 的记录。请用其他编号。“reprise verify”会说明它是什么；要使用它，请先移出主目录，再从那里导入。`,
  'session.beingRemoved': ({ id }) => `另一个进程正在永久删除会话 ${id}，其编号不能再用，请用其他编号。`,
  'session.changed': () => '会话在读取之后已被更改，请查看后重试。',
  'session.leafMoved': ({ id }) => `会话 ${id} 在读取之后有了新消息或新分支，请查看后重试。`,
  'session.fenced': ({ id }) => `此进程已失去会话 ${id} 的租约，现在可能由另一个进程写入。请稍后重试。`,
  'session.leaseHeld': ({ id, pid }) => `进程 ${pid} 正在运行会话 ${id}。${waitOrStop(id)}`,
  'session.runnerHolds': ({ id }) => `另一个进程正在运行会话 ${id}。${waitOrStop(id)}`,
  'session.foreignLock': ({ id, file, pid }) =>
    `${pid === null ? '另一个工具' : `进程 ${pid}`}用 ${file} 锁定了会话 ${id}。请关闭该工具或等它完成；如它已崩溃，请删除锁文件。`,
  'session.busy': ({ id }) =>
    `会话 ${id} 已有排队或进行中的消息。请等待回答，或先停止：“reprise stop ${id}”。`,
  'session.queueFull': ({ id, waiting }) =>
    `会话 ${id} 已有 ${waiting} 条等待的消息，达到上限。请在部分消息得到回答后重试，或提高队列上限。`,
  'session.groupFull': ({ group, max }) =>
    `组 ${group} 已有 ${max} 条排队或进行中的消息，达到上限。请在部分消息完成后重试；会话的子智能体上限由智能体的 maxChildren 决定。`,
  'append.empty': () => '写入至少需要一个条目。请加上条目，或不写入。',
  'entry.badType': ({ type }) =>
    `条目的类型不能是 ${type}。请用“session”以外的非空文本：文件头只由存储写入。`,
  'entry.hasId': () => '新条目不能有编号。请去掉编号，存储会分配并返回它。',
  'entry.noBlob': ({ id, blob }) =>
    `条目引用了 ${blob}，但会话 ${id} 没有此文件。请将内容直接写入条目，存储会另存较大的内容。`,
  'entry.noParent': ({ id, parent }) =>
    `会话 ${id} 没有可以接续的条目 ${parent}。请用此会话中条目的编号作为 parentId。`,
  'input.tooLong': ({ field, length, max }) => `${field} 有 ${length} 个字符，最多 ${max} 个，请缩短。`,
  'input.tooMany': ({ field, length, max }) => `${field} 有 ${length} 项，最多 ${max} 项，请分多次调用。`,
  'event.tooLarge': ({ maxBytes }) =>
    `事件的 JSON 超过 ${maxBytes} 字节。请发布较小的事件，较大的内容请存为条目。`,
  'idempotency.notUnicode': () =>
    '消息的幂等键或其来源的名称不是有效的 Unicode 文本，含有不成对的代理字符。请用有效的文本，例如 UUID。',
  'idempotency.missing': () => '随写入投递的消息缺少幂等键。请加上 idempotencyKey，以免重试时重复投递。',
  'session.appendKeyReused': ({ key }) => `幂等键 ${key} 已用于另一次写入，新的写入请用新的键。`,
  'session.messageKeyReused': ({ key }) => `幂等键 ${key} 已用于另一条消息，新的消息请用新的键。`,
  'session.notRead': ({ id }) => `存储启动后仍在读取会话 ${id} 的记录，请稍后重试。`,
  'session.damaged': ({ id, offset }) =>
    `会话 ${id} 在第 ${offset} 字节处损坏。对话中的 /repair 或“reprise repair ${id}”用可读部分在新会话中继续。`,
  'session.damagedHeader': ({ id }) =>
    `会话 ${id} 存在，但其记录的文件头已损坏。“reprise repair ${id}”用可读部分在新会话中继续。`,
  'session.lostTranscript': ({ id, file, problem }) =>
    `会话 ${id} 的记录${LOST[problem]}。请从副本恢复 ${file}，或在新会话中用仍可读的部分继续：reprise repair ${id}`,
  'session.foreignTranscript': ({ id, other }) =>
    `会话 ${id} 的文件是另一个会话 ${other} 的记录。请从副本恢复该文件，或在新会话中用仍可读的部分继续：reprise repair ${id}`,
  'session.notAFile': ({ id, file, kind }) =>
    `会话 ${id} 的记录是${KINDS[kind]}，不是文件。请移走 ${file}；没有写入任何内容。`,
  'session.unreadable': ({ id, reason }) =>
    `无法读取会话 ${id} 的记录：${reason}。请检查磁盘和文件权限后重试。`,
  'session.lostParts': ({ id, parts }) =>
    `会话 ${id} 有 ${parts} 个较大的部分丢失或损坏。请恢复备份，或在 …/export 之后加上 ?lost=preview 导出其余内容，其中有每个缺失部分的开头。`,
  'session.exportDamaged': ({ id, line }) =>
    `会话 ${id} 在第 ${line} 行之后损坏。请重新导出，将包含所有可读内容。`,
  'session.exportGone': ({ id }) => `会话 ${id} 的记录不见了。请从副本恢复文件，或将备份恢复到另一个主目录。`,
  'session.locked': ({ id }) => `会话 ${id} 被另一个进程锁定，或数据库服务器没有响应，请重试。`,
  'blob.missing': ({ id, blob }) => `会话 ${id} 没有文件 ${blob}。`,
  'blob.damaged': ({ id, blob }) => `会话 ${id} 的文件 ${blob} 已损坏，请从备份恢复。`,
  'blob.notWritten': ({ reason }) => `消息的较大部分无法写入：${reason}。请检查磁盘和主目录的权限后重试。`,
  'blob.noFolder': ({ folder }) =>
    `${folder} 不是文件夹，无法存放消息的较大部分。请移走它后重试，存储会新建该文件夹。`,
  'inbox.missing': ({ inboxId }) => `收件箱中没有消息 ${inboxId}。`,
  'list.badCursor': () => `游标不属于此列表。${OTHER_CURSOR}`,
  'list.badSort': ({ sort, allowed }) => `此列表不能按 ${sort} 排序，可用：${allowed.join('、')}。`,
  'list.badOrder': ({ order }) => `没有排序方式 ${order}，请用 asc 或 desc。`,
  'list.endless': ({ cursor }) =>
    `服务器返回的列表页${cursor === 'missing' ? '没有游标' : '重复了之前的游标，列表不会结束'}。请确认地址是相同版本的 Reprise 服务器。`,
  'search.badCursor': () => `游标不属于此搜索。${OTHER_CURSOR}`,
  'search.tooLong': ({ characters, max }) =>
    `搜索内容有 ${characters} 个字符，最多 ${max} 个。请只搜索其中一部分。`,
  'store.closed': () => '存储已关闭，请重新打开。',
  'store.onlyRead': () => '存储以只读方式打开，无法写入。',
  'store.folderReadOnly': ({ folder }) =>
    `${folder} 无法写入，因此存储以只读方式打开。请使其可写（挂载、所有者、权限、chattr）后重试。`,
  'store.copyUnfinished': ({ run }) =>
    `向此存储的复制尚未完成：${run}。请再次运行同一个“reprise migrate”或“reprise backup restore”，会从中断处继续。`,
  'store.locked': ({ seconds }) =>
    `存储被另一个进程锁定了 ${seconds} 秒，请重试。“reprise locks”列出使用它的进程。`,
  'store.logInUse': ({ seconds }) =>
    `存储的预写日志被另一个进程占用了 ${seconds} 秒，请重试。“reprise locks”列出使用存储的进程。`,
  'store.missing': ({ file }) => `${file} 不存在，请检查路径。此命令只读取，不会新建存储。`,
  'store.unsettled': ({ file, problem, canWrite }) =>
    `${file} ${problem === 'older' ? '由较旧的版本写入，只读取的命令不会升级它' : '有被终止的进程未完成的工作，或另一个进程正在写入'}。${canWrite ? (problem === 'older' ? '请运行一次“reprise verify”：它在检查前升级存储。然后重试。' : '请在另一个进程完成后重试。如果没有这样的进程，请运行一次“reprise verify”：它在检查前完成这些工作。') : '请使其文件夹可写，或复制到可写的文件夹，然后在那里运行一次“reprise verify”。'}`,
  'store.damaged': ({ problem, found }) =>
    `存储的数据库已损坏：${DAMAGE[problem]}${found === null ? '' : `（${found}）`}。请关闭使用此主目录的所有进程再重新打开，可读内容会被抢救。`,
  'store.indexReplaced': ({ times }) =>
    `写入 sessions.json 期间，它被另一个程序替换了 ${times} 次。会话不受影响：此文件只是供其他工具使用的列表。请在该程序完成后重试。`,
  'store.networkHome': ({ home }) =>
    `${home} 位于网络文件系统，SQLite 的锁在那里无效。请选择本地磁盘上的文件夹；多台机器共用时请用 PostgreSQL（--store postgres）。`,
  'store.badHome': ({ home, reason }) =>
    `${home} 不能用作主目录：${reason}。请用 --home 或 REPRISE_HOME 选择可写的文件夹。`,
  'store.noAccess': ({ home, reason }) => `无法打开 ${home}：${reason}。请检查路径及其权限。`,
  'store.homeNotFolder': ({ home }) => `${home} 不是文件夹。请选择一个文件夹，不存在时会新建。`,
  'store.noThreadFile': ({ file }) =>
    `缺少存储线程的文件 ${file}.cjs。请不要打包 reprise，或将其 dist/src/store/sqlite/threads 中的 thread.cjs 和 search-thread.cjs 复制到打包文件所在的文件夹。`,
  'store.notAThread': () => '此文件只能作为存储的工作线程运行。请用 openStore() 打开存储，不要直接运行它。',
  'store.unknownOperation': ({ operation }) =>
    `存储线程没有操作 ${operation}。请确认 Reprise 的所有文件版本相同，并重新安装。`,
  'store.notData': ({ operation }) =>
    `${operation} 的参数不是普通数据。请只传递 JSON 值和 Uint8Array，不要传递函数、Promise 或类的实例。`,
  'store.moved': () => '存储的文件在打开期间被移动或替换。请重试，将打开现有的文件。',
  'store.diverged': ({ copy }) =>
    `存储在打开期间，其文件被另一个程序替换并写入。请重试，将打开现有的文件；${copy === null ? '只由此进程写入的内容未能保存' : `此进程写入的内容在 ${copy} 中`}。`,
  'store.stillOpen': ({ file }) =>
    `另一个进程打开着 ${file}，但缺少 -wal 或 -shm 文件。请等该进程结束，或结束它（“lsof ${file}”可查到），然后重试。`,
  'store.newer': ({ schema, known, canRead }) =>
    `存储的版本为 ${schema}，而此 Reprise 最高支持 ${known}：${canRead ? '可以读取，不能写入' : '无法读取'}。请使用写入它的版本或更新的版本。`,
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
        return `存储出错：${message}。请重试，“reprise doctor”会检查原因。`;
    }
  },
  'store.threadDied': () => '存储线程意外停止，已启动新线程，请重试。',
  'store.threadsDied': ({ times, seconds }) =>
    `存储线程在 ${seconds} 秒的工作中意外停止了 ${times} 次。请关闭存储，查明原因后重新打开。`,
  'store.memoryLost': () => '存储线程意外停止，此内存存储中的会话已丢失。要保留会话，请使用磁盘上的存储。',
};
