/*
 * Every setting there is, as data: where it may be given, what holds without it, who may give it. Without the schema,
 * because most starts have nothing to check and the library that checks takes longer to load than Node to start.
 * Which values are allowed is in schema.ts; a test holds the two together.
 */

import { DEFAULT_LANE_LIMITS } from '../engine/lanes.ts';

export interface Setting {
  /** `*` stands for any agent, or any of `PROVIDERS`. */
  readonly path: string;
  readonly about: string;
  /** Unset: made of the path; null: cannot be given by the environment. */
  readonly env?: string | null;
  /** The name commander gives an option: `tokenFile` for `--token-file`. */
  readonly flag?: string;
  readonly fallback?: unknown;
  /** What the fallback is where it is not one value. */
  readonly otherwise?: string;
  /** May be set by a file in a folder nobody has trusted. It is the exception: what is new needs trust. */
  readonly free?: true;
  readonly secret?: true;
  /** A path; relative to the file that says it, or to the current folder. */
  readonly folder?: true;
  /** Any text will do, so there is nothing to check. */
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
    about: 'The folder everything lives in.',
  },
  {
    path: 'store.kind',
    env: 'REPRISE_STORE',
    flag: 'store',
    otherwise: 'what the home holds, `jsonl` in a new one',
    about: 'How sessions are kept.',
  },
  {
    path: 'url',
    flag: 'url',
    about: 'A server that has the sessions, instead of a home on this machine.',
  },
  { path: 'store.url', about: 'Where the database of a `postgres` store is.' },
  {
    path: 'store.durability',
    fallback: 'disk',
    about: '`disk`: what was acknowledged survives a power cut; `os`: a killed process.',
  },
  {
    path: 'store.minFreeBytes',
    otherwise: '64 MiB, or 1 % of a smaller disk',
    about: 'With less free on the disk no turn begins.',
  },
  {
    path: 'store.sessionCacheTtlMs',
    env: 'REPRISE_SESSION_CACHE_TTL_MS',
    free: true,
    otherwise: '45000',
    about: 'How long a session stays in memory after its last use; 0 keeps none.',
  },
  {
    path: 'model',
    flag: 'model',
    text: true,
    otherwise: 'by the keys that are set, else `offline`',
    about: 'Who answers: `offline`, `anthropic:<id>`, `openai:<id>`, `ollama:<id>` and so on.',
  },
  {
    path: 'models.*.apiKey',
    secret: true,
    text: true,
    about: 'The key for a provider. Better in the environment than in a file.',
  },
  { path: 'models.*.baseURL', about: 'Where a provider is; `openai-compatible` needs it.' },
  { path: 'models.*.headers', secret: true, env: null, about: 'Sent with every call.' },
  { path: 'models.*.contextWindow', free: true, env: null, about: 'The window of its models, in tokens.' },
  { path: 'models.*.maxOutput', free: true, env: null, about: 'The longest answer, in tokens.' },
  {
    path: 'models.*.idleTimeoutMs',
    free: true,
    env: null,
    about: 'The longest silence before a call is given up.',
  },
  { path: 'models.*.cost', free: true, env: null, about: 'Dollars for a million tokens.' },
  {
    path: 'models.*.family',
    free: true,
    env: null,
    about: 'What a compatible server asks of a conversation.',
  },
  { path: 'models.*.includeUsage', free: true, env: null, about: 'Whether to ask for token counts.' },
  { path: 'contextTokens', free: true, about: 'A cap on the window.' },
  { path: 'profile', free: true, otherwise: '`native`', about: 'The ways of another system.' },
  { path: 'maxSteps', free: true, otherwise: '50', about: 'How many times a turn may call the model.' },
  {
    path: 'stuckAfterMs',
    free: true,
    otherwise: '600000',
    about: 'A turn that tells nothing new for so long is ended.',
  },
  { path: 'compaction.cut', free: true, otherwise: 'by the profile', about: 'How much a compaction keeps.' },
  { path: 'compaction.trigger', free: true, otherwise: 'by the profile', about: 'When one is made.' },
  {
    path: 'compaction.background',
    free: true,
    otherwise: '0.8',
    about: 'Share of the budget from which on a summary is prepared; `false`: only when it must be.',
  },
  { path: 'compaction.summaryTimeoutMs', free: true, otherwise: '60000', about: 'For one summary.' },
  {
    path: 'compaction.memoryFlush',
    otherwise: '`false`',
    about:
      'Whether the model first writes what will matter later to MEMORY.md in the workspace of the conversation.',
  },
  { path: 'agents.*.systemPrompt', about: 'What the agent is told first. `defaults` stands for all agents.' },
  { path: 'agents.*.model', about: 'Who answers for this agent.' },
  { path: 'agents.*.contextTokens', free: true, about: 'A cap on its window.' },
  { path: 'agents.*.profile', free: true, about: 'Its ways.' },
  { path: 'agents.*.tools', about: 'Names of tools it may use (`allow`) and may not (`deny`).' },
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
  { path: 'agents.*.allowAgents', about: 'Agents its sessions may give work to, or `"*"`.' },
  { path: 'agents.*.subagents', about: 'How deep and how many children: `maxDepth`, `maxChildren`.' },
  { path: 'agents.*.sessionTools', about: 'Whether it has the tools for sessions, and their `scope`.' },
  { path: 'agents.*.session', about: 'What `session` says, for its conversations only.' },
  { path: 'session.enabled', otherwise: '`true`', about: '`false`: nothing outlives the process.' },
  { path: 'session.historyLimit', free: true, about: 'At most so many messages are kept by a compaction.' },
  {
    path: 'session.historyTurns',
    free: true,
    otherwise: 'all that fit',
    about: 'Only the last so many turns are sent to the model. Older ones stay in the store.',
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
  { path: 'session.scope', otherwise: '`per-sender`', about: '`global`: everybody shares one conversation.' },
  {
    path: 'session.dmScope',
    otherwise: '`main` on own channels, else `per-channel-peer`',
    about: 'Which direct chats are one session.',
  },
  { path: 'session.mainKey', otherwise: '`main`', about: 'The name of the main conversation in keys.' },
  { path: 'session.ownChannels', otherwise: '`cli`, `web`', about: 'Channels only the owner can write on.' },
  { path: 'session.identityLinks', about: 'One person, many accounts: `{"ada": ["telegram:1"]}`.' },
  { path: 'session.bindings', about: 'Which agent answers where.' },
  { path: 'session.defaultAgent', otherwise: '`main`', about: 'Who answers where nothing is bound.' },
  { path: 'session.reset', free: true, otherwise: 'never', about: 'When a conversation begins anew.' },
  { path: 'session.resetByType', free: true, about: 'The same for `direct`, `group` and `thread`.' },
  { path: 'session.resetByChannel', free: true, about: 'The same by the name of a channel.' },
  { path: 'session.timeZone', free: true, otherwise: "the host's", about: 'Of the hour of a daily reset.' },
  {
    path: 'session.resetTriggers',
    free: true,
    otherwise: '`/new`, `/reset`',
    about: 'First words that begin a new session.',
  },
  {
    path: 'session.queue',
    free: true,
    otherwise: 'mode `steer`, 500 ms, cap 20, drop `summarize`',
    about: 'What happens to messages while a turn runs; `byChannel` for some.',
  },
  {
    path: 'session.senderCommands',
    otherwise: 'none',
    about: 'Commands that change settings and that every sender on a channel may use, not only the owner.',
  },
  { path: 'session.sendPolicy', otherwise: 'allow', about: 'Where anything may be sent.' },
  { path: 'session.threads', free: true, about: 'Whether a thread begins with what was said before it.' },
  { path: 'session.maintenance', otherwise: 'nothing goes', about: 'What `reprise prune` may remove.' },
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
    about: 'How many turns of children.',
  },
  {
    path: 'lanes.background',
    fallback: DEFAULT_LANE_LIMITS.background,
    free: true,
    about: 'How many summaries beside conversations.',
  },
  {
    path: 'server.host',
    env: 'REPRISE_HOST',
    flag: 'host',
    fallback: '127.0.0.1',
    about: 'Where `reprise serve` listens; others than loopback want a token that was given.',
  },
  {
    path: 'server.port',
    env: 'REPRISE_PORT',
    flag: 'port',
    fallback: 4747,
    free: true,
    about: '0: any that is free.',
  },
  {
    path: 'server.token',
    env: 'REPRISE_TOKEN',
    secret: true,
    text: true,
    about: 'What callers must present. Better in the environment or a file of its own.',
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
    about: 'Names the server may be called by, beside its address and localhost.',
  },
  { path: 'server.cors.origins', fallback: [], about: 'Origins whose pages may call the server.' },
  { path: 'server.limits.bodyBytes', otherwise: '1 MiB', about: 'Of a request without a message.' },
  { path: 'server.limits.messageBytes', otherwise: '24 MiB', about: 'Of one with a message and its images.' },
  { path: 'server.limits.jsonDepth', otherwise: '100', about: 'How deep a body may be nested.' },
  { path: 'server.limits.jsonValues', otherwise: '100000', about: 'Values and names in one body.' },
  {
    path: 'server.limits.connections',
    otherwise: '1000',
    about: 'At once; at the limit the oldest one without a valid token is closed for a new one.',
  },
  { path: 'server.limits.headerBytes', otherwise: '16 KiB', about: 'Of the headers of a request.' },
  { path: 'server.limits.headersTimeoutMs', otherwise: '10000', about: 'For the headers to arrive.' },
  { path: 'server.limits.requestTimeoutMs', otherwise: '60000', about: 'For the whole request to arrive.' },
  {
    path: 'server.limits.keepAliveMs',
    otherwise: '75000',
    about: 'How long an idle connection stays open; longer than a proxy keeps its own.',
  },
  { path: 'server.limits.badTokens', otherwise: '30', about: 'Wrong tokens in a minute from one address.' },
  {
    path: 'server.limits.requestsPerMinute',
    otherwise: '1200',
    about: 'From one address, of requests that need a token and have none.',
  },
  { path: 'server.limits.streams', otherwise: '800', about: 'Streams that are open at once.' },
  {
    path: 'server.limits.streamBufferBytes',
    otherwise: '1 MiB',
    about: 'How far a client may be behind its stream before it is cut off; it can resume.',
  },
  {
    path: 'server.limits.streamKeepAliveMs',
    otherwise: '15000',
    about: 'How often a quiet stream says that it is there.',
  },
  {
    path: 'server.limits.graceMs',
    otherwise: '7000',
    about: 'How long a stop waits for requests and turns; a second later it ends.',
  },
  {
    path: 'log.level',
    flag: 'logLevel',
    fallback: 'info',
    about: 'From when on a line is written.',
  },
  {
    path: 'log.format',
    flag: 'logFormat',
    fallback: 'json',
    free: true,
    about: 'For programs or for people; at a terminal `serve` writes for people unless this is set.',
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

/** The variable of a path, or undefined: agents are set in files only. */
export function envName(path: string): string | undefined {
  const { env } = settingAt(path) ?? { env: null };
  if (env === null || path.startsWith('agents.')) return undefined;
  return env ?? WELL_KNOWN[path] ?? `REPRISE_${snake(path)}`;
}

function snake(path: string): string {
  const words = path.replace(/URL/g, 'Url').replace(/([a-z])([A-Z])/g, '$1_$2');
  return words.replace(/[.-]/g, '_').toUpperCase();
}

/** Every variable that is read, and the path it sets. */
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
