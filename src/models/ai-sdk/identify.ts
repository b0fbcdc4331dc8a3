import type { ProviderFamily } from '../../transcript/render/target.ts';

export interface KnownProvider {
  readonly provider: string;
  readonly family: ProviderFamily;
  /** Stored with answers; the names other readers of the format use. */
  readonly api: string;
}

/** By the beginning of the name an AI SDK provider gives its models, e.g. `openai.responses`. First match counts. */
const ROWS: readonly (readonly [prefix: string, family: ProviderFamily, api: string])[] = [
  ['anthropic', 'anthropic', 'anthropic-messages'],
  ['googleVertex.anthropic', 'anthropic', 'anthropic-messages'],
  ['vertex.anthropic', 'anthropic', 'anthropic-messages'],
  ['bedrock.anthropic', 'anthropic', 'anthropic-messages'],
  ['openai.chat', 'openai', 'openai-completions'],
  ['openai', 'openai-responses', 'openai-responses'],
  ['azure.chat', 'openai', 'openai-completions'],
  ['azure', 'openai-responses', 'openai-responses'],
  ['google', 'gemini', 'google-generative-ai'],
  ['amazon-bedrock', 'bedrock', 'bedrock-converse-stream'],
  ['bedrock', 'bedrock', 'bedrock-converse-stream'],
  ['mistral', 'mistral', 'mistral-conversations'],
];

/** Who a model object says it is. Unknown providers get what nearly every family accepts. */
export function identify(name: string): KnownProvider {
  const provider = name.split('.')[0] || name;
  const row = ROWS.find(([prefix]) => name === prefix || name.startsWith(`${prefix}.`));
  if (row !== undefined) return { provider, family: row[1], api: row[2] };
  // Every package built on the chat format ends its name so; strict chat templates may stand behind it.
  if (name.endsWith('.chat')) return { provider, family: 'local', api: 'openai-completions' };
  return { provider, family: 'generic', api: 'ai-sdk' };
}
