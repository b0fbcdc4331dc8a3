/*
 * Every setting as data: where it can be set, its default, and who may set it. The schema is in schema.ts, because most
 * starts have nothing to check and the schema library takes longer to load than Node takes to start. A test compares both.
 */

import { DEFAULT_LANE_LIMITS } from '../engine/schedule/lanes.ts';

export interface Setting {
  /** `*` means any agent, or any of `PROVIDERS`. */
  readonly path: string;
  readonly about: string;
  /** Unset: derived from the path. Null: cannot be set in the environment. */
  readonly env?: string | null;
  /** The name commander gives an option: `tokenFile` for `--token-file`. */
  readonly flag?: string;
  readonly fallback?: unknown;
  /** Describes the default where it is not a single value. */
  readonly otherwise?: string;
  /** An untrusted folder may set it. This is the exception: new settings need trust. */
  readonly free?: true;
  readonly secret?: true;
  /** A path, or a list of paths, relative to the file that sets it or to the current folder. */
  readonly folder?: true;
  /** Any text is valid. */
  readonly text?: true;
}

export const PROVIDERS = ['anthropic', 'openai', 'openai-compatible', 'ollama', 'llamacpp'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

export const SETTINGS: readonly Setting[] = [
  {
    path: 'home',
    flag: 'home',
    folder: true,
    text: true,
    otherwise: '$XDG_DATA_HOME/reprise, or ~/.reprise',
    about: 'The folder with all data.',
  },
  {
    path: 'store.kind',
    env: 'REPRISE_STORE',
    flag: 'store',
    otherwise: 'the kind in the home, `jsonl` in a new one',
    about: 'The kind of store.',
  },
  {
    path: 'url',
    flag: 'url',
    about: 'Use the sessions of this server instead of a home on this machine.',
  },
  { path: 'store.url', about: 'The address of the database of a `postgres` store.' },
  {
    path: 'store.durability',
    fallback: 'disk',
    about: '`disk`: acknowledged writes survive a power cut; `os`: they survive a killed process.',
  },
  {
    path: 'store.minFreeBytes',
    otherwise: '64 MiB, or 1 % of a smaller disk',
    about: 'No turn starts if the disk has less free space.',
  },
  {
    path: 'store.sessionCacheTtlMs',
    env: 'REPRISE_SESSION_CACHE_TTL_MS',
    free: true,
    otherwise: '45000',
    about: 'How long a session stays cached in memory after its last use; 0 turns the cache off.',
  },
  {
    path: 'model',
    flag: 'model',
    text: true,
    otherwise: 'by the keys that are set, else `offline`',
    about: 'The model: `offline`, `anthropic:<id>`, `openai:<id>`, `ollama:<id>` and so on.',
  },
  {
    path: 'models.*.apiKey',
    secret: true,
    text: true,
    about: 'The API key of a provider. Prefer the environment to a file.',
  },
  { path: 'models.*.baseURL', about: 'The base URL of a provider; required for `openai-compatible`.' },
  { path: 'models.*.headers', secret: true, env: null, about: 'Headers that are sent with every call.' },
  {
    path: 'models.*.contextWindow',
    free: true,
    env: null,
    about: 'The context window of its models, in tokens.',
  },
  { path: 'models.*.maxOutput', free: true, env: null, about: 'The longest answer, in tokens.' },
  {
    path: 'models.*.idleTimeoutMs',
    free: true,
    env: null,
    about: 'A call that is silent for longer is ended.',
  },
  { path: 'models.*.cost', free: true, env: null, about: 'Price in dollars per million tokens.' },
  {
    path: 'models.*.family',
    free: true,
    env: null,
    about: 'The rules that a compatible server applies to requests.',
  },
  { path: 'models.*.includeUsage', free: true, env: null, about: 'Whether requests ask for token counts.' },
  { path: 'contextTokens', free: true, about: 'An upper limit for the context window.' },
  {
    path: 'profile',
    free: true,
    otherwise: '`native`',
    about: 'Use the limits and formats of another system.',
  },
  { path: 'maxSteps', free: true, otherwise: '50', about: 'How often a turn may call the model.' },
  {
    path: 'stuckAfterMs',
    free: true,
    otherwise: '600000',
    about: 'A turn without progress for this long is ended.',
  },
  { path: 'compaction.cut', free: true, otherwise: 'by the profile', about: 'How much a compaction keeps.' },
  { path: 'compaction.trigger', free: true, otherwise: 'by the profile', about: 'When a compaction starts.' },
  {
    path: 'compaction.background',
    free: true,
    otherwise: '0.8',
    about:
      'From this share of the budget a summary is prepared in the background; `false`: only when it is needed.',
  },
  {
    path: 'compaction.summaryTimeoutMs',
    free: true,
    otherwise: '60000',
    about: 'The time limit for one summary.',
  },
  {
    path: 'compaction.memoryFlush',
    otherwise: '`false`',
    about: 'Whether the model first writes notes to MEMORY.md in the workspace of the conversation.',
  },
  {
    path: 'tools',
    env: null,
    folder: true,
    about: 'Modules with your own tools, such as `["./tools.ts"]`. They run with the rights of Reprise.',
  },
  {
    path: 'agents.*.systemPrompt',
    about: 'The system prompt of the agent. `defaults` applies to all agents.',
  },
  { path: 'agents.*.model', about: 'The model of this agent.' },
  { path: 'agents.*.contextTokens', free: true, about: 'An upper limit for its context window.' },
  { path: 'agents.*.profile', free: true, about: 'The profile of this agent.' },
  { path: 'agents.*.tools', about: 'Names of tools that it may use (`allow`) and may not use (`deny`).' },
  {
    path: 'agents.*.fileTools',
    otherwise: '`false`; `true` where `agents.<id>.workspace` is set',
    about: 'Whether it has tools that read, write and list files.',
  },
  {
    path: 'agents.*.workspace',
    folder: true,
    otherwise: 'one folder per conversation in `<home>/agents/<id>/workspaces`',
    about: 'One folder for the files of all its conversations: every sender can read and change them.',
  },
  {
    path: 'agents.*.sandbox',
    otherwise: '`off`',
    about: '`session`: each session has its own folder in `agents.<id>.workspace`.',
  },
  { path: 'agents.*.allowAgents', about: 'Agents that its sessions may start as subagents, or `"*"`.' },
  {
    path: 'agents.*.subagents',
    about: 'How deep subagents may nest and how many may run: `maxDepth`, `maxChildren`.',
  },
  { path: 'agents.*.sessionTools', about: 'Whether it has the session tools, and their `scope`.' },
  {
    path: 'agents.*.session',
    about: 'The settings below `session`, for the conversations of this agent only.',
  },
  {
    path: 'session.enabled',
    otherwise: '`true`',
    about: '`false`: sessions live in memory and end with the process.',
  },
  { path: 'session.historyLimit', free: true, about: 'How many messages a compaction keeps at most.' },
  {
    path: 'session.historyTurns',
    free: true,
    otherwise: 'all that fit',
    about: 'How many of the last turns are sent to the model. Older ones stay in the store.',
  },
  {
    path: 'session.historyTurnsByType',
    free: true,
    about: 'The same for `direct`, `group` and `thread`.',
  },
  { path: 'session.historyTurnsByChannel', free: true, about: 'The same by the name of a channel.' },
  {
    path: 'session.historyTurnsBySender',
    free: true,
    about: 'The same for the direct chat of a sender: `{"telegram:12345": 50}`.',
  },
  {
    path: 'session.scope',
    otherwise: '`per-sender`',
    about: '`global`: all senders share one conversation.',
  },
  {
    path: 'session.dmScope',
    otherwise: '`main` on own channels, else `per-channel-peer`',
    about: 'Which direct chats share a session.',
  },
  { path: 'session.mainKey', otherwise: '`main`', about: 'The name of the main conversation in keys.' },
  { path: 'session.ownChannels', otherwise: '`cli`, `web`', about: 'Channels only the owner can write on.' },
  { path: 'session.identityLinks', about: 'Accounts of one person: `{"ada": ["telegram:1"]}`.' },
  { path: 'session.bindings', about: 'Which agent answers messages of which channel, account or chat.' },
  {
    path: 'session.defaultAgent',
    otherwise: '`main`',
    about: 'The agent that answers where no binding matches.',
  },
  {
    path: 'session.reset',
    free: true,
    otherwise: 'never',
    about: 'When a session expires and a new one starts.',
  },
  { path: 'session.resetByType', free: true, about: 'The same for `direct`, `group` and `thread`.' },
  { path: 'session.resetByChannel', free: true, about: 'The same by the name of a channel.' },
  { path: 'session.timeZone', free: true, otherwise: "the host's", about: 'The time zone of daily resets.' },
  {
    path: 'session.resetTriggers',
    free: true,
    otherwise: '`/new`, `/reset`',
    about: 'First words that start a new session.',
  },
  {
    path: 'session.queue',
    free: true,
    otherwise: 'mode `steer`, 500 ms, cap 20, drop `summarize`',
    about: 'What happens to messages that arrive during a turn; `byChannel` overrides it.',
  },
  {
    path: 'session.senderCommands',
    otherwise: 'none',
    about: 'Commands that change settings and that every sender on a channel may use, not only the owner.',
  },
  { path: 'session.sendPolicy', otherwise: 'allow', about: 'Where replies may be sent.' },
  { path: 'session.threads', free: true, about: 'Whether a thread starts with the history of its parent.' },
  {
    path: 'session.maintenance',
    otherwise: 'nothing is removed',
    about:
      'What `reprise prune` and `serve` may remove; `ttl` and `archiveAfter` apply to the current session of a key too.',
  },
  {
    path: 'lanes.turns',
    fallback: DEFAULT_LANE_LIMITS.turns,
    free: true,
    about: 'How many turns run at once.',
  },
  {
    path: 'lanes.children',
    fallback: DEFAULT_LANE_LIMITS.children,
    free: true,
    about: 'How many turns of subagents run at once.',
  },
  {
    path: 'lanes.background',
    fallback: DEFAULT_LANE_LIMITS.background,
    free: true,
    about: 'How many background summaries run at once.',
  },
  {
    path: 'server.host',
    env: 'REPRISE_HOST',
    flag: 'host',
    fallback: '127.0.0.1',
    about:
      'The address on which `reprise serve` listens; any other than loopback requires a token that you set.',
  },
  {
    path: 'server.port',
    env: 'REPRISE_PORT',
    flag: 'port',
    fallback: 4747,
    free: true,
    about: 'The port; 0: any free port.',
  },
  {
    path: 'server.token',
    env: 'REPRISE_TOKEN',
    secret: true,
    text: true,
    about: 'The token that clients must send. Prefer the environment or a token file.',
  },
  {
    path: 'server.tokenFile',
    env: 'REPRISE_TOKEN_FILE',
    flag: 'tokenFile',
    folder: true,
    text: true,
    otherwise: 'one in the home, made on the first start',
    about: 'A file with the token.',
  },
  {
    path: 'server.allowedHosts',
    fallback: [],
    about: 'Host names that requests may use, besides the address and localhost.',
  },
  { path: 'server.cors.origins', fallback: [], about: 'Origins whose pages may call the server.' },
  {
    path: 'server.limits.bodyBytes',
    otherwise: '1 MiB',
    about: 'The size limit of a request without a message.',
  },
  {
    path: 'server.limits.messageBytes',
    otherwise: '24 MiB',
    about: 'The size limit of a request with a message and its images.',
  },
  { path: 'server.limits.jsonDepth', otherwise: '100', about: 'How deep a body may be nested.' },
  {
    path: 'server.limits.jsonValues',
    otherwise: '100000',
    about: 'How many values and names one body may contain.',
  },
  {
    path: 'server.limits.connections',
    otherwise: '1000',
    about:
      'How many connections may be open; at the limit, a new one replaces the oldest one without a valid token.',
  },
  {
    path: 'server.limits.headerBytes',
    otherwise: '16 KiB',
    about: 'The size limit of the headers of a request.',
  },
  {
    path: 'server.limits.headersTimeoutMs',
    otherwise: '10000',
    about: 'The time limit for the headers of a request.',
  },
  {
    path: 'server.limits.requestTimeoutMs',
    otherwise: '60000',
    about: 'The time limit for a whole request to arrive.',
  },
  {
    path: 'server.limits.keepAliveMs',
    otherwise: '75000',
    about: 'How long an idle connection stays open; longer than a proxy keeps its own.',
  },
  {
    path: 'server.limits.badTokens',
    otherwise: '30',
    about: 'How many wrong tokens one address may send in a minute.',
  },
  {
    path: 'server.limits.requestsPerMinute',
    otherwise: '1200',
    about: 'How many requests without a required token one address may send in a minute.',
  },
  { path: 'server.limits.streams', otherwise: '800', about: 'How many streams may be open.' },
  {
    path: 'server.limits.streamBufferBytes',
    otherwise: '1 MiB',
    about: 'How much a slow client of a stream may leave unread before it is disconnected; it can resume.',
  },
  {
    path: 'server.limits.streamKeepAliveMs',
    otherwise: '15000',
    about: 'How often a quiet stream sends a comment.',
  },
  {
    path: 'server.limits.graceMs',
    otherwise: '7000',
    about: 'How long a stop waits for requests and turns; the process ends a second later.',
  },
  {
    path: 'log.level',
    flag: 'logLevel',
    fallback: 'info',
    about: 'The lowest level that is logged.',
  },
  {
    path: 'log.format',
    flag: 'logFormat',
    fallback: 'json',
    free: true,
    about: '`json` for programs or `pretty` for people; in a terminal the default is `pretty`.',
  },
];

const WELL_KNOWN: Readonly<Record<string, string>> = {
  'models.anthropic.apiKey': 'ANTHROPIC_API_KEY',
  'models.anthropic.baseURL': 'ANTHROPIC_BASE_URL',
  'models.openai.apiKey': 'OPENAI_API_KEY',
  'models.openai.baseURL': 'OPENAI_BASE_URL',
};

/** The row of a path such as `agents.main.tools`. */
export function settingAt(path: string): Setting | undefined {
  const direct = ROWS.get(path);
  if (direct !== undefined) return direct;
  const [group, , ...rest] = path.split('.');
  return ROWS.get([group, '*', ...rest].join('.'));
}

const ROWS: ReadonlyMap<string, Setting> = new Map(SETTINGS.map((row) => [row.path, row]));

/** @returns the environment variable of a path, or undefined: agents are configured in files only. */
export function envName(path: string): string | undefined {
  const { env } = settingAt(path) ?? { env: null };
  if (env === null || path.startsWith('agents.')) return undefined;
  return env ?? WELL_KNOWN[path] ?? `REPRISE_${snake(path)}`;
}

function snake(path: string): string {
  const words = path.replace(/URL/g, 'Url').replace(/([a-z])([A-Z])/g, '$1_$2');
  return words.replace(/[.-]/g, '_').toUpperCase();
}

/** Every environment variable that is read, and the path it sets. */
export function envPaths(): Map<string, string> {
  const paths = SETTINGS.flatMap(({ path }) =>
    path.startsWith('models.*.') ? PROVIDERS.map((name) => path.replace('*', name)) : [path],
  );
  return new Map(
    paths.flatMap((path) => {
      const name = envName(path);
      return name === undefined ? [] : [[name, path] as const];
    }),
  );
}
