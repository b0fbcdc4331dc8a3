import type { ProviderFamily } from '../../transcript/render/target.ts';

export interface KnownProvider {
  readonly provider: string;
  readonly family: ProviderFamily;
  /** Stored with answers, under the names that other readers of the format use. */
  readonly api: string;
}

/**
 * By the start of the name that an AI SDK provider gives its models, such as `openai.responses`. The first match
 * counts.
 */
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

/** Identifies a model object. Unknown providers get rules that nearly every family accepts. */
export function identify(name: string): KnownProvider {
  const provider = name.split('.')[0] || name;
  const row = ROWS.find(([prefix]) => name === prefix || name.startsWith(`${prefix}.`));
  if (row !== undefined) return { provider, family: row[1], api: row[2] };
  // Packages for the chat format end their name like this; the server may use a strict chat template.
  if (name.endsWith('.chat')) return { provider, family: 'local', api: 'openai-completions' };
  return { provider, family: 'generic', api: 'ai-sdk' };
}
