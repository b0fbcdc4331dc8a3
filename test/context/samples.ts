/**
 * Texts to check the token estimate on, written or generated for this purpose and never used to fit it, with what
 * two tokenizers count. The counts were taken once, with tiktoken 1.0.22, so the test needs no tokenizer.
 */
export interface Sample {
  readonly kind: 'prose' | 'code' | 'chinese' | 'japanese' | 'json';
  readonly name: string;
  readonly text: string;
  readonly o200k: number;
  readonly cl100k: number;
}

const PROSE: Readonly<Record<string, string>> = {
  harbour: `The ferry left twenty minutes late, which nobody on board seemed to mind. A boy counted gulls aloud until his
sister told him that he had counted the same one four times. Behind the breakwater the sea was flat and grey, and the
captain, who had crossed it every working day since he was nineteen, drank his coffee with one hand on the wheel. "It
will blow before evening," he said to no one in particular. By noon the first white caps had appeared beyond the
lighthouse, and the gulls had gone.`,
  support: `Hi team, since yesterday's update the export button does nothing when I click it. I tried Firefox and Chrome,
logged out and in again, and cleared the cache as your help page suggests. The browser console shows "TypeError:
Cannot read properties of undefined (reading 'rows')". Our month-end report is due on Friday, so could you either fix
this or tell me how to get the data another way? I can share my screen any time after 2 pm. Thanks a lot, Dana`,
  essay: `A promise that cannot be checked is only a wish. Whoever builds a store of records learns this early: the disk
that says yes and forgets, the network that delivers twice, the colleague who restarts the machine in the middle of a
write. None of them is malicious. They merely have other priorities. The remedy is not more optimism but fewer
assumptions, and for each remaining assumption a test that turns red when it no longer holds.`,
  recipe: `Soak the beans overnight in plenty of cold water. Next day, drain them and simmer gently for about fifty minutes
with a bay leaf, half an onion and two cloves of garlic. Meanwhile chop the carrots, celery and the other half of the
onion, and soften them in olive oil over a low flame. Add tomatoes, paprika and a pinch of sugar; let it thicken. Stir
in the beans with a ladle of their liquid, season with salt, pepper and a splash of vinegar, and serve with crusty
bread.`,
  minutes: `Minutes of the weekly meeting. Present: Amara, Jonas, Priya, Luis. 1. The migration of the billing database is
finished; three customers had to be corrected by hand. 2. Priya reports that median latency fell from 340 ms to 210 ms
after the index was rebuilt. 3. Open question: do we keep the old endpoint until the end of the quarter? Luis will ask
the two partners who still use it. 4. Next week's meeting moves to Tuesday at 10:30 because of the holiday.`,
  markdown: `## Installing

1. Download the archive for your platform and unpack it.
2. Copy \`config.example.toml\` to \`config.toml\` and set at least **listen** and **data_dir**.
3. Start the service with \`./server --config config.toml\`; it prints the address it listens on.

> Upgrading from 1.x? Read the notes on the new folder layout first, because a downgrade is not possible.

| option | default | meaning |
|---|---|---|
| listen | 127.0.0.1:8080 | address and port |
| data_dir | ./data | where everything is kept |
| workers | 4 | number of worker threads |`,
};

const CODE: Readonly<Record<string, string>> = {
  typescript: `export async function withRetry<T>(work: () => Promise<T>, { attempts = 3, delayMs = 200 }: RetryOptions = {}): Promise<T> {
  let lastError: unknown;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await work();
    } catch (error) {
      lastError = error;
      if (!isRetryable(error) || attempt === attempts) break;
      // Jitter keeps many clients from coming back at the same moment.
      await sleep(delayMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2));
    }
  }
  throw lastError;
}

function isRetryable(error: unknown): boolean {
  return error instanceof HttpError && (error.status === 429 || error.status >= 500);
}
`,
  python: `from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Inventory:
    """Counts items per shelf and tells when a shelf runs low."""

    threshold: int = 5
    shelves: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, shelf: str, item: str, amount: int = 1) -> None:
        if amount <= 0:
            raise ValueError(f"amount must be positive, not {amount}")
        self.shelves[shelf][item] = self.shelves[shelf].get(item, 0) + amount

    def low(self) -> list[tuple[str, str, int]]:
        return sorted(
            (shelf, item, count)
            for shelf, items in self.shelves.items()
            for item, count in items.items()
            if count < self.threshold
        )
`,
  sql: `CREATE TABLE IF NOT EXISTS journal (
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (session_id, first_seq)
) STRICT, WITHOUT ROWID;

SELECT s.id, s.title, COUNT(j.first_seq) AS pending, MAX(j.last_seq) AS newest
FROM sessions AS s
LEFT JOIN journal AS j ON j.session_id = s.id
WHERE s.status = 'open' AND s.updated_at >= datetime('now', '-7 days')
GROUP BY s.id
HAVING pending > 0
ORDER BY newest DESC
LIMIT 50;
`,
  shell: `#!/usr/bin/env bash
set -euo pipefail

target="\${1:?usage: backup.sh <folder>}"
stamp="$(date -u +%Y%m%dT%H%M%SZ)"
archive="/var/backups/$(basename "$target")-$stamp.tar.gz"

mkdir -p "$(dirname "$archive")"
tar --exclude='node_modules' --exclude='*.tmp' -czf "$archive" -C "$(dirname "$target")" "$(basename "$target")"

# Keep the newest seven, remove the rest.
ls -1t /var/backups/*.tar.gz | tail -n +8 | while read -r old; do
  echo "removing $old" >&2
  rm -f -- "$old"
done
`,
  rust: `use std::collections::HashMap;

#[derive(Debug, Clone, PartialEq)]
pub enum Token<'a> {
    Word(&'a str),
    Number(f64),
    Symbol(char),
}

pub fn tokenize(input: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut chars = input.char_indices().peekable();
    while let Some((start, ch)) = chars.next() {
        match ch {
            c if c.is_whitespace() => continue,
            c if c.is_alphabetic() => {
                let mut end = start + c.len_utf8();
                while let Some(&(i, next)) = chars.peek() {
                    if !next.is_alphanumeric() { break; }
                    end = i + next.len_utf8();
                    chars.next();
                }
                tokens.push(Token::Word(&input[start..end]));
            }
            '+' | '-' | '*' | '/' | '(' | ')' => tokens.push(Token::Symbol(ch)),
            other => return Err(format!("unexpected {other:?} at {start}")),
        }
    }
    Ok(tokens)
}
`,
  html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Sessions</title>
    <link rel="stylesheet" href="/assets/style.css" />
    <style>
      .card { display: grid; gap: 0.5rem; padding: 1rem 1.25rem; border: 1px solid #d0d7de; border-radius: 8px; }
      .card:hover { background: #f6f8fa; }
    </style>
  </head>
  <body>
    <main id="app" class="container" data-page="sessions">
      <button type="button" class="primary" onclick="openDialog('new-session')">New session</button>
    </main>
    <script type="module" src="/assets/main.js"></script>
  </body>
</html>
`,
};

const CHINESE: Readonly<Record<string, string>> = {
  story: `老王每天早上六点准时出现在巷口的早点摊。他要两根油条、一碗豆浆，不加糖，然后坐在靠墙的那张小桌子旁边，慢慢地翻昨天的报纸。摊主说，
这样的日子已经过了十一年，风雨无阻。去年冬天有三天他没来，大家都以为出了什么事，结果第四天他又提着保温杯出现了，只说了一句：“去看孙子
了。”从那以后，摊主总会给他多留一个鸡蛋。`,
  tech: `数据库在写入之前会先把改动记录到日志里，这样即使机器突然断电，重启以后也能根据日志恢复到一致的状态。需要注意的是，日志文件必须真正
落到磁盘上才算安全，仅仅交给操作系统的缓存是不够的。我们的做法是把多个请求合并成一批，只做一次同步，这样吞吐量可以提高好几倍，而每个请求
的等待时间几乎不变。`,
  chat: `你好，我想问一下上周买的那台洗衣机什么时候能送到？订单上写的是周三，可是现在都周五了还没有人联系我。如果这两天送不了的话，能不能先帮我退款？
另外我当时选的是免费安装，希望师傅来的时候顺便看一下厨房的水管，最近有点漏水。谢谢！`,
  news: `据当地气象部门介绍，受冷空气影响，未来三天北方大部分地区气温将下降六到八度，部分山区可能出现小雪。交通部门提醒市民，早晚出行注意路面
结冰，尽量选择公共交通工具。学校已经接到通知，如遇极端天气可以推迟上课时间。专家表示，今年冬天的平均气温可能比往年略低，请大家做好防寒准备。`,
  mixed: `请在项目根目录运行 npm test，它会依次执行代码检查、类型检查和单元测试。如果某个测试失败，先看错误信息里的文件名和行号，再用 npx vitest
run -t "测试名称" 单独运行它。提交之前记得更新 CHANGELOG.md，说明这次修改对用户有什么影响。版本号遵循语义化规则，例如从 1.4.2 升到 1.5.0。`,
  essay: `读书的好处，在于它能让人在一个安静的下午走进另一个人的内心。作者也许早已不在人世，他所处的时代也与我们相去甚远，但文字把他的犹豫、骄傲和
温柔都保存了下来。有时候读到一句话，忽然觉得说的正是自己，那种感觉就像在陌生的城市里遇见了老朋友。所以我总觉得，书架上的每一本书都在等一个合适
的时刻。`,
};

const JAPANESE: Readonly<Record<string, string>> = {
  story: `駅前の古い喫茶店は、今年の春で開店から四十年になる。店主の佐藤さんは毎朝七時に店を開け、豆を挽きながらラジオの天気予報を聞くのが習慣だ。
常連のお客さんたちは決まった席に座り、新聞を広げたり、窓の外を眺めたりしている。「コーヒーの味は変わらないけれど、町はずいぶん変わりましたね」
と、ある日だれかが言った。佐藤さんは少し笑って、黙ってカップを磨いていた。`,
  tech: `このライブラリは、会話の履歴を安全に保存するためのものです。メッセージは送信される前にディスクへ書き込まれるので、途中でプロセスが停止しても
失われることはありません。設定ファイルで保存先のフォルダーとデータベースの種類を指定できます。詳しい使い方については、ドキュメントの「はじめに」の章を
参照してください。`,
  chat: `お世話になっております。先日お願いした見積書の件ですが、まだ届いていないようです。お手数をおかけしますが、ご確認いただけますでしょうか。
また、来週の打ち合わせは木曜日の午後三時からで問題ないでしょうか。もしご都合が悪ければ、別の日をご提案ください。どうぞよろしくお願いいたします。`,
  news: `気象庁によりますと、台風の影響で九州南部では今夜遅くから明日の朝にかけて激しい雨が降る見込みです。土砂災害や川の増水に十分注意してください。
鉄道各社は、始発から一部の区間で運転を見合わせる可能性があるとしています。最新の情報を確認し、早めの避難を心がけるよう呼びかけています。`,
  mixed: `まず Node.js 24 以上をインストールし、ターミナルで npm install を実行します。次に config.json を開き、"port" の値を 8080 に変更してください。
サーバーを起動すると http://localhost:8080 でアクセスできるようになります。エラーが出た場合は logs フォルダーの中のファイルを確認しましょう。`,
  essay: `旅の楽しみは、目的地に着くことだけではないと思う。電車の窓から見える田んぼや、乗り換えの駅で食べた立ち食いそば、隣に座った人との短い会話。
そういう小さな出来事が、あとになって何度も思い出される。写真には残らないけれど、心のどこかにそっとしまわれている。だから私は、急行ではなく各駅停車に
乗ることが多い。`,
};

const WORDS =
  'alpha river stone market window paper garden signal bridge number friend morning letter system'.split(' ');

/** Small numbers in a fixed order, so that the generated texts are always the same. */
function sequence(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function word(next: (below: number) => number): string {
  return WORDS[next(WORDS.length)] ?? '';
}

function generatedJson(): Record<string, string> {
  const next = sequence(20);
  const users = Array.from({ length: 12 }, (_, i) => ({
    id: 1000 + i,
    name: `${word(next)} ${word(next)}`,
    email: `${word(next)}@example.org`,
    active: next(2) === 1,
    tags: [word(next), word(next)],
    createdAt: new Date(1_735_689_600_000 + next(10 ** 9)).toISOString(),
  }));
  const points = Array.from({ length: 40 }, () => [next(1000), next(1000) / 10, -next(100)]);
  const schema = {
    name: 'search_files',
    description: 'Finds files by name or content below a folder and returns at most so many paths.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Text to look for; may hold * and ?.' },
        folder: { type: 'string', description: 'Where to start. Unset: the workspace.' },
        limit: { type: 'integer', minimum: 1, maximum: 500, default: 50 },
        caseSensitive: { type: 'boolean', default: false },
      },
      required: ['query'],
      additionalProperties: false,
    },
  };
  const log = Array.from({ length: 10 }, (_, i) =>
    JSON.stringify({
      level: 30,
      time: 1_735_689_600_000 + i * 1371,
      msg: `request ${word(next)} done`,
      ms: next(900),
    }),
  );
  const config = {
    server: { host: '127.0.0.1', port: 4747, timeoutMs: 30_000, cors: { enabled: false, origins: [] } },
    store: { kind: 'jsonl', home: '~/.reprise', durability: 'disk' },
    models: {
      providers: {
        local: { baseUrl: 'http://localhost:11434/v1', models: { small: { contextWindow: 32_768 } } },
      },
    },
    agents: {
      defaults: {
        model: 'local:small',
        contextTokens: 16_000,
        tools: ['read_file', 'write_file', 'search_files'],
      },
    },
  };
  const answer = {
    id: 'msg_01',
    role: 'assistant',
    content: [
      {
        type: 'text',
        text: 'I looked at the three files you named. Two of them agree; the third has an older date.',
      },
      {
        type: 'tool_use',
        id: 'toolu_01',
        name: 'read_file',
        input: { path: 'docs/plan.md', offset: 0, limit: 200 },
      },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 2431, output_tokens: 118, cache_read_input_tokens: 2048 },
  };
  return {
    users: JSON.stringify(users, undefined, 2),
    compact: JSON.stringify(users),
    points: JSON.stringify({ points }),
    schema: JSON.stringify(schema, undefined, 4),
    log: log.join('\n'),
    config: JSON.stringify(config, undefined, 2),
    answer: JSON.stringify(answer),
  };
}

/** By name: what o200k_base and cl100k_base count. */
const COUNTS: Readonly<Record<string, readonly [o200k: number, cl100k: number]>> = {
  'prose/harbour': [114, 114],
  'prose/support': [102, 101],
  'prose/essay': [93, 93],
  'prose/recipe': [112, 113],
  'prose/minutes': [115, 116],
  'prose/markdown': [147, 147],
  'code/typescript': [178, 178],
  'code/python': [189, 188],
  'code/sql': [142, 141],
  'code/shell': [158, 155],
  'code/rust': [234, 231],
  'code/html': [191, 190],
  'chinese/story': [133, 198],
  'chinese/tech': [104, 155],
  'chinese/chat': [82, 130],
  'chinese/news': [99, 163],
  'chinese/mixed': [101, 128],
  'chinese/essay': [118, 171],
  'japanese/story': [154, 206],
  'japanese/tech': [105, 151],
  'japanese/chat': [89, 141],
  'japanese/news': [109, 155],
  'japanese/mixed': [89, 122],
  'japanese/essay': [123, 173],
  'json/users': [868, 860],
  'json/compact': [557, 537],
  'json/points': [321, 321],
  'json/schema': [188, 188],
  'json/log': [230, 230],
  'json/config': [203, 202],
  'json/answer': [104, 103],
};

function samples(kind: Sample['kind'], texts: Readonly<Record<string, string>>): Sample[] {
  return Object.entries(texts).map(([title, text]) => {
    const name = `${kind}/${title}`;
    const [o200k = Number.NaN, cl100k = Number.NaN] = COUNTS[name] ?? [];
    return { kind, name, text, o200k, cl100k };
  });
}

export const SAMPLES: readonly Sample[] = [
  ...samples('prose', PROSE),
  ...samples('code', CODE),
  ...samples('chinese', CHINESE),
  ...samples('japanese', JAPANESE),
  ...samples('json', generatedJson()),
];
