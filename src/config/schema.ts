import { z } from 'zod';
import type { MaintenanceRules } from '../engine/admin/maintenance-rules.ts';
import type { AgentOptions } from '../engine/agents/agents.ts';
import { PROFILES, type ProfileName } from '../engine/agents/profiles.ts';
import { SESSION_REACHES } from '../engine/agents/tool-policy.ts';
import { SENDER_COMMANDS } from '../engine/commands/commands.ts';
import type { RepriseOptions } from '../engine/reprise.ts';
import type { LaneLimits } from '../engine/schedule/lanes.ts';
import type { SessionOptions } from '../engine/session-options.ts';
import { QUEUE_DROPS } from '../engine/session-settings.ts';
import type { CreateModelOptions } from './create-model.ts';
import type { OpenStoreOptions, StoreKind } from './open.ts';
import { PROVIDERS, type ProviderName } from './settings.ts';

export type ProviderConfig = Pick<
  CreateModelOptions,
  'apiKey' | 'baseURL' | 'headers' | 'contextWindow' | 'maxOutput' | 'idleTimeoutMs' | 'cost' | 'family'
> & { readonly includeUsage?: boolean };

/** `model` is a name: what it stands for is made when the engine is opened. */
export type AgentConfig = Omit<AgentOptions, 'model'> & { readonly model?: string };

/** Those of the server, which has a default for each. */
export interface LimitsConfig {
  readonly bodyBytes?: number;
  readonly messageBytes?: number;
  readonly jsonDepth?: number;
  readonly jsonValues?: number;
  readonly connections?: number;
  readonly headerBytes?: number;
  readonly headersTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly keepAliveMs?: number;
  readonly badTokens?: number;
  readonly requestsPerMinute?: number;
  readonly streams?: number;
  readonly streamBufferBytes?: number;
  readonly streamKeepAliveMs?: number;
  readonly graceMs?: number;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** All settings, merged and with defaults filled in. */
export interface Config {
  readonly home: string;
  /** Set: the sessions are not in the home but on a server. */
  readonly url?: string;
  readonly store: Required<Pick<OpenStoreOptions, 'durability'>> &
    Pick<OpenStoreOptions, 'minFreeBytes' | 'sessionCacheTtlMs'> & {
      readonly kind: StoreKind;
      readonly url?: string;
    };
  readonly model: string;
  readonly models: { readonly [P in ProviderName]?: ProviderConfig };
  readonly contextTokens?: number;
  readonly profile?: ProfileName;
  readonly maxSteps?: number;
  readonly stuckAfterMs?: number;
  readonly compaction: NonNullable<RepriseOptions['compaction']>;
  /** Paths of modules, see `loadToolModules`. */
  readonly tools?: readonly string[];
  readonly agents: Readonly<Record<string, AgentConfig>>;
  readonly session: SessionOptions & { readonly maintenance?: MaintenanceRules };
  readonly lanes: LaneLimits;
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly token?: string;
    readonly tokenFile?: string;
    readonly allowedHosts: readonly string[];
    readonly cors: { readonly origins: readonly string[] };
    readonly limits: LimitsConfig;
  };
  readonly log: { readonly level: LogLevel; readonly format: 'json' | 'pretty' };
}

type Deep<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Deep<T[K]> }
    : T;
/** What one source may say: any part of it. */
export type Settings = Deep<Config>;

const text = z.string().min(1);
const texts = z.array(text);
const webURL = z.url({ protocol: /^https?$/ });
const count = z.int().min(0);
const positive = z.int().min(1);
const share = z.number().gt(0).max(1);
const ms = z.int().min(0).max(0x7fff_ffff);
const duration = z.union([z.number().min(0), z.string().regex(/^\d+(\.\d+)?[smhdw]$/)]);

/** Everything optional: a source says what it likes, and what none says has a default. */
const part = <S extends z.ZodRawShape>(
  shape: S,
): z.ZodObject<{ [K in keyof S]: z.ZodExactOptional<S[K]> }, z.core.$strict> =>
  z.strictObject(
    Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, z.exactOptional(type)])),
  ) as unknown as z.ZodObject<{ [K in keyof S]: z.ZodExactOptional<S[K]> }, z.core.$strict>;

const profile = z.enum(Object.keys(PROFILES) as ProfileName[]);
const chat = z.enum(['direct', 'group', 'channel']);
const reset = z.strictObject({
  mode: z.enum(['none', 'daily', 'idle']),
  atHour: z.exactOptional(z.int().min(0).max(23)),
  idleMinutes: z.exactOptional(z.number().gt(0)),
});
const queue = {
  mode: z.enum(['steer', 'followup', 'queue', 'collect', 'steer-backlog', 'interrupt']),
  debounceMs: ms,
  cap: positive,
  drop: z.enum(QUEUE_DROPS),
};
const sendRule = z.strictObject({
  action: z.enum(['allow', 'deny']),
  match: z.exactOptional(part({ channel: text, chatType: chat, keyPrefix: text })),
});
const binding = z.strictObject({
  agentId: text,
  match: part({
    channel: text,
    account: text,
    guild: text,
    peer: z.strictObject({ kind: z.exactOptional(chat), id: text }),
  }),
});

const sessionShape = {
  enabled: z.boolean(),
  historyLimit: positive,
  historyTurns: positive,
  historyTurnsByType: part({ direct: positive, group: positive, thread: positive }),
  historyTurnsByChannel: z.record(text, positive),
  historyTurnsBySender: z.record(text, positive),
  scope: z.enum(['global', 'per-sender']),
  dmScope: z.enum(['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer']),
  mainKey: text,
  ownChannels: texts,
  identityLinks: z.record(text, texts),
  bindings: z.array(binding),
  defaultAgent: text,
  reset,
  resetByType: part({ direct: reset, group: reset, thread: reset }),
  resetByChannel: z.record(text, reset),
  timeZone: text,
  resetTriggers: texts,
  queue: part({ ...queue, byChannel: z.record(text, part(queue)) }),
  senderCommands: z.array(z.enum(SENDER_COMMANDS)),
  sendPolicy: part({ default: z.enum(['allow', 'deny']), rules: z.array(sendRule) }),
  threads: part({ fork: z.boolean(), maxTokens: positive }),
};

const provider = part({
  apiKey: text,
  baseURL: webURL,
  headers: z.record(text, z.string()),
  contextWindow: positive,
  maxOutput: positive,
  idleTimeoutMs: ms,
  cost: z.strictObject({
    input: z.number().min(0),
    output: z.number().min(0),
    cacheRead: z.exactOptional(z.number().min(0)),
    cacheWrite: z.exactOptional(z.number().min(0)),
  }),
  family: z.enum(['openai', 'openai-responses', 'gemini', 'bedrock', 'mistral', 'local', 'generic']),
  includeUsage: z.boolean(),
});

const agent = part({
  systemPrompt: z.string(),
  model: text,
  contextTokens: positive,
  profile,
  tools: part({ allow: texts, deny: texts }),
  fileTools: z.boolean(),
  workspace: text,
  sandbox: z.enum(['off', 'session']),
  allowAgents: z.union([texts, z.literal('*')]),
  subagents: part({ maxDepth: count, maxChildren: count }),
  sessionTools: z.union([z.boolean(), part({ scope: z.enum(SESSION_REACHES) })]),
  session: part(sessionShape),
});

const cut = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('keep-tokens'), tokens: positive }),
  z.strictObject({ kind: z.literal('keep-turns'), turns: positive }),
  z.strictObject({ kind: z.literal('keep-messages'), messages: positive }),
  z.strictObject({ kind: z.literal('fraction'), compress: share, keep: share, minKeep: count }),
  z.strictObject({ kind: z.literal('last-user') }),
  z.strictObject({ kind: z.literal('history-share'), share }),
]);
const trigger = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('budget') }),
  z.strictObject({ kind: z.literal('tokens'), tokens: positive }),
  z.strictObject({ kind: z.literal('share'), share }),
]);

const schema = part({
  home: text,
  url: webURL,
  store: part({
    kind: z.enum(['memory', 'jsonl', 'sqlite', 'postgres']),
    url: z.url(),
    durability: z.enum(['disk', 'os']),
    minFreeBytes: count,
    sessionCacheTtlMs: z.int().min(0).max(999_999_999),
  }),
  model: text,
  models: part(
    Object.fromEntries(PROVIDERS.map((name) => [name, provider])) as Record<ProviderName, typeof provider>,
  ),
  contextTokens: positive,
  profile,
  maxSteps: positive,
  stuckAfterMs: ms.min(1),
  compaction: part({
    cut,
    trigger,
    background: z.union([share, z.literal(false)]),
    summaryTimeoutMs: ms.min(1),
    memoryFlush: z.boolean(),
  }),
  tools: texts,
  agents: z.record(text, agent),
  session: part({
    ...sessionShape,
    maintenance: part({
      ttl: duration,
      maxSessions: count,
      maxBytes: count,
      archiveAfter: duration,
      grace: duration,
    }),
  }),
  lanes: part({ turns: positive, children: positive, background: positive }),
  server: part({
    host: text,
    port: z.int().min(0).max(65535),
    token: text,
    tokenFile: text,
    allowedHosts: texts,
    cors: part({ origins: z.array(webURL) }),
    limits: part({
      bodyBytes: positive,
      messageBytes: positive,
      jsonDepth: positive,
      jsonValues: positive,
      connections: positive,
      headerBytes: positive,
      headersTimeoutMs: ms,
      requestTimeoutMs: ms,
      keepAliveMs: ms,
      badTokens: positive,
      requestsPerMinute: positive,
      streams: positive,
      streamBufferBytes: positive,
      streamKeepAliveMs: z.int().min(100).max(0x7fff_ffff),
      graceMs: ms,
    }),
  }),
  log: part({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    format: z.enum(['json', 'pretty']),
  }),
});

/** The type says that what passes is what the engine and the rest take. */
export const settingsSchema: z.ZodType<Settings> = schema;
