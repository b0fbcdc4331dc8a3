import type { CliMessages, MessageTable } from 'reprise/client';

const SERVER_DECIDES: Readonly<Record<CliMessages['cli.serverDecides']['option'], string>> = {
  ephemeral: '服务器会保存所有消息',
  model: '由服务器选择模型',
  profile: '服务器有自己的配置方案',
  store: '服务器有自己的存储',
  system: '服务器的智能体有自己的系统提示',
};

const ON_THE_HOME = '在主目录所在的机器上运行此命令，不带 --url 和 REPRISE_URL';

export const CHINESE_CLI: Pick<MessageTable, keyof CliMessages> = {
  'cli.exclusive': ({ options }) => `${options.join('、')} 不能同时使用，请只用其中一个。`,
  'cli.noAgent': ({ agent, suggestion }) =>
    `没有智能体 ${agent}。${suggestion === null ? '' : `是否要用“${suggestion}”？`}“reprise config”列出已配置的智能体。`,
  'cli.noMessagesYet': () => '此聊天还没有消息，请先发送一条。',
  'cli.serverDecides': ({ option }) =>
    `--${option} 与 --url 同时使用时无效：${SERVER_DECIDES[option]}。请去掉 --${option} 或 --url。${option === 'model' ? '在聊天中可以用 /model 选择服务器的其他模型。' : ''}`,
  'cli.serverFormat': ({ format }) =>
    `服务器只能导出记录（.jsonl），不能导出 ${format}。请指定 .jsonl 文件，或用“reprise export”${ON_THE_HOME}。`,
  'cli.homeOnly': ({ option }) => `${option} 需要主目录，不能通过服务器使用。请去掉它，或${ON_THE_HOME}。`,
  'cli.needsHome': ({ url }) => `此命令需要主目录，不能通过服务器 ${url} 使用。请${ON_THE_HOME}。`,
  'cli.fileRefused': ({ file, reason, maxBytes }) =>
    `无法添加 ${file}：${reason === 'size' ? `大于 ${maxBytes / 1000} KB` : '既不是文本也不是图片'}。请从消息中去掉它。`,
  'cli.noPrompt': ({ options }) =>
    `${options.length === 0 ? '没有问题内容' : `${options.join('、')} 需要一个问题`}。请写成：reprise -p "问题"${options.map((option) => ` ${option}`).join('')}，或通过管道传入。`,
  'cli.noSessions': () => '还没有会话。运行 reprise 即可开始。',
  'cli.noMatch': ({ query }) => `没有名称含 ${query} 的会话。“reprise ls”列出所有会话。`,
  'cli.noRef': () =>
    '没有指定会话，而此处不是终端，无法选择。请指定编号、名称、@last 或“reprise ls”中的序号。',
  'cli.noProgram': ({ program }) => `无法启动程序 ${program}。请先安装它，或在装有它的地方运行打印出的命令。`,
  'cli.importWhat': () =>
    '没有指定要导入的内容。请指定文件或文件夹，或导入本机所有工具的会话：reprise import --all',
  'cli.importAllPath': ({ path }) =>
    `--all 和 --watch 使用各工具的已知文件夹，不接受路径（${path}）。请去掉路径，或不使用它们。`,
  'cli.importTool': ({ tool, known }) => `没有已知文件夹的工具 ${tool}。--only 可用：${known.join('、')}。`,
  'cli.needsYes': () => '此命令需要确认，但标准输入不是终端。请用 --yes 确认。',
  'cli.cancelled': () => '已取消，未做任何更改。',
  'cli.noToken': ({ url, home, servers }) =>
    `没有服务器 ${url} 的令牌。请用 --token-file、REPRISE_TOKEN_FILE 或 REPRISE_TOKEN 指定该服务器的令牌。${home} 的令牌只会发送给它自己的服务器${servers.length === 0 ? '，而该服务器没有运行' : `（${servers.join('、')}）`}。`,
  'cli.tokenNotInFile': ({ name }) =>
    `令牌设置在 ${name} 中，不在令牌文件中。请在 ${name} 中更改，然后重启服务器；要轮换令牌文件，请用 --token-file 指定它。`,
  'cli.memoryHome': () =>
    '内存中的存储没有主目录，没有可读取的内容。请用 --store jsonl、sqlite 或 postgres。',
  'cli.homeForbidden': ({ home, origin, reason, path }) =>
    `没有权限读取主目录 ${home}（${from(origin)}）：${reason}。请用 ls -ld ${path} 查看其所有者，以该用户运行此命令，或用 --home 或 REPRISE_HOME 指定其他主目录。`,
  'cli.noHome': ({ home, origin }) =>
    `${home} 不是 Reprise 的主目录（${from(origin)}）。请用 --home 或 REPRISE_HOME 指定其他主目录，或运行 reprise 新建。`,
  'cli.homeNotEmpty': ({ home }) =>
    `${home} 不是空文件夹。请用 --home 指定新的文件夹，或去掉 --home 以使用临时文件夹。`,
  'cli.badStore': ({ store }) =>
    `${store} 不是存储的名称。请写 jsonl、sqlite 或 postgres，jsonl:<文件夹> 或 sqlite:<文件夹>，或 postgres://…`,
  'cli.passwordShown': () =>
    '命令行中的密码会出现在进程列表中，此机器的所有用户都能看到。请写“postgres”并设置 REPRISE_STORE_URL，或去掉密码并设置 PGPASSWORD 或 PGPASSFILE。',
  'cli.noFolder': ({ folder, reason }) => `无法进入文件夹 ${folder}：${reason}。请检查 -C 后的路径。`,
  'cli.noEntryAt': ({ at, isRemote }) =>
    `此会话${isRemote ? '的当前分支' : ''}中没有消息或条目 ${at}。${isRemote ? `要查看其他分支，请${ON_THE_HOME}。` : "请用“reprise show”显示的消息位置，并加引号：--at '#3'。"}`,
  'cli.backupWord': ({ word }) => `backup 没有“${word}”命令。要写入此名称的文件：reprise backup ./${word}`,
  'cli.noLabel': () => '名称为空。请写成：reprise rename <会话> <名称>',
  'cli.noSearchText': () => '搜索内容为空。请写成：reprise search <内容>',
  'cli.noTranscriptFile': ({ id }) =>
    `会话 ${id} 没有记录文件：它在回收站中，或存储在数据库中。可以用 reprise show ${id} 查看。`,
  'cli.noFile': ({ file }) => `没有文件 ${file}，请检查路径。`,
  'cli.notTranscript': ({ file }) =>
    `${file} 不是会话记录。请指定每行一个 JSON 对象的文件，“reprise show --help”列出支持的格式。`,
  'cli.unreadableFile': ({ file, reason, isFolder }) =>
    `无法读取 ${file}：${reason}。${isFolder ? '这是文件夹，请指定其中的 .jsonl 文件。' : '请检查其权限。'}`,
  'cli.noProjectFile': ({ name, file }) =>
    `此文件夹中没有 ${name}。请先创建 ${file}（设置见 docs/config.md），或进入含有它的文件夹。`,
  'cli.noPruneRules': () =>
    '没有清理规则。请加上 --ttl、--max-sessions、--max-bytes、--archive-after 或 --grace，或设置 session.maintenance。',
  'cli.exportWhat': () => '请指定一个会话，或用 --all。例如：reprise export @last --format markdown',
  'cli.exportFolder': () => '导出多个文件需要文件夹，请加上 --out <文件夹>。',
  'cli.noTarget': () => '没有指定复制的目标。请加上 --to，例如 --to sqlite 或 --to jsonl:<文件夹>。',
  'cli.sameStore': ({ store }) => `${store} 既是来源又是目标。请用 --to 指定其他种类或文件夹。`,
  'cli.noStore': ({ store }) => `${store} 没有存储。请用 --from 指定其他存储，或用 --home 指定其文件夹。`,
};

function from(origin: string | null): string {
  return origin === null ? '默认值' : `来自 ${origin}`;
}
