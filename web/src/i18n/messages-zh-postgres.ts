import type { MessageTable, PostgresMessages, PostgresProblem } from 'reprise/client';

const POSTGRES: Readonly<Record<PostgresProblem, string>> = {
  notAllowedIn: '服务器不允许此用户连接，请检查 pg_hba.conf 和存储网址',
  badPassword: '用户名或密码不正确，请检查存储网址',
  noPassword: '服务器要求密码，而存储网址中没有',
  serverUnproven:
    '服务器无法证明自己知道密码，可能是另一台服务器；在存储网址中使用“sslmode=verify-full”可以检查其证书',
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
  client: '连接的客户端一侧出错',
  pemFile: '无法读取存储网址中的证书文件，请更正 sslrootcert、sslcert 或 sslkey',
  noTls: '服务器不支持 TLS，请在服务器上启用（ssl=on）',
  certificateName: '服务器的证书属于另一个名称，请在存储网址中使用证书里的名称',
  certificateAuthority: '服务器的证书不是由受信任的机构签发，请用 sslrootcert 指定机构的证书',
  certificateDate: '服务器的证书已过期或尚未生效，请更新证书或校准时钟',
  tls: '无法建立加密连接，请检查 sslmode、sslrootcert、sslcert 和 sslkey',
  pooler: '与服务器之间有事务连接池，请在存储网址中加上“pooler=true”',
  readOnly: '数据库服务器不接受写入：它是副本或设为只读，请将存储网址改为主服务器',
  damaged: '服务器发现数据已损坏，请从备份恢复数据库',
  other: '数据库服务器报告了错误，请重试；若仍失败，其日志中有详细信息',
};

export const CHINESE_POSTGRES: Pick<MessageTable, keyof PostgresMessages> = {
  'postgres.failed': ({ problem, message }) =>
    `PostgreSQL 存储出错：${POSTGRES[problem]}${message === null ? '' : `（${message}）`}。`,
  'postgres.newer': ({ schema, known }) =>
    `数据库的版本为 ${schema}，而此 Reprise 最高支持 ${known}。请更新此机器上的 Reprise。`,
  'postgres.older': ({ schema, known }) =>
    `数据库的版本为 ${schema}，此版本需要 ${known}，而以只读方式打开时不会升级。请运行一次“reprise verify”来升级，或使用写入它的版本。`,
  'postgres.badUrl': () =>
    '存储网址不是有效的 PostgreSQL 网址。请写成 postgres://user:password@host:5432/database；密码中的 @ : / ? # % 要写成 %40 %3A %2F %3F %23 %25。',
  'postgres.noFacts': () =>
    '数据库服务器没有报告其版本和编码。请确认此地址上是 PostgreSQL 服务器，并检查存储网址。',
  'postgres.rolledBack': () => '数据库服务器回滚了事务，请重试，无需重启。',
  'postgres.keyVanished': ({ key }) =>
    `幂等键 ${key} 的记录在此请求期间被删除，请重试。请勿手动删除 reprise.inbound_keys 中的行。`,
  'postgres.noStore': () => '此数据库中没有存储，请检查存储网址。此命令只读取，不会新建存储。',
  'postgres.tooOld': ({ version }) =>
    `PostgreSQL 服务器的版本 ${Math.trunc(version / 10_000)} 过旧，请使用 14 或更新的版本。`,
  'postgres.encoding': ({ encoding }) =>
    `数据库的编码为 ${encoding}，存储需要 UTF8，请用 ENCODING 'UTF8' 创建。`,
  'postgres.replica': () => '数据库服务器是副本，无法写入，请将存储网址改为主服务器。',
};
