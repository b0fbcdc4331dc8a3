import type { ModelOffer } from '../messages/params/params-commands.ts';
import { isObject } from '../transcript/json.ts';
import { LOCAL_URLS } from './create-model.ts';
import type { Config, ProviderConfig } from './schema.ts';

const PUBLIC_URLS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'https://api.anthropic.com/v1'],
  ['openai', 'https://api.openai.com/v1'],
]);
const ANTHROPIC_VERSION = '2023-06-01';
/** A closed port is refused at once; the limit is for a slow provider. */
const TIMEOUT_MS = 3000;
const MAX_ANSWER_CHARS = 2_000_000;
/** Models that do not chat. */
const NO_CHAT = /embed|whisper|tts|dall-e|image|moderation|audio|realtime|transcribe|davinci|babbage|sora/i;
/** Bare names that say which provider has them. */
const FAMILIES: readonly (readonly [start: RegExp, provider: string])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:gpt-|chatgpt-|o\d)/, 'openai'],
];

type Listed = Pick<Config, 'model' | 'models' | 'agents'>;

/** @returns a name with its provider: `claude-…` is a model of Anthropic. Other names stay as they are. */
export function fullModelName(name: string): string {
  if (name.includes(':')) return name;
  const provider = FAMILIES.find(([start]) => start.test(name))?.[1];
  return provider === undefined ? name : `${provider}:${name}`;
}

/**
 * The models that can be chosen: those of the configuration, and those that configured providers and servers on this
 * machine list. Window and price are given where the provider or the configuration names them. A provider that does
 * not answer offers what is configured.
 */
export async function listModels({ model, models, agents }: Listed): Promise<readonly ModelOffer[]> {
  const configured = new Map<string, ProviderConfig>(Object.entries(models));
  const named = [model, ...Object.values(agents).flatMap((agent) => agent.model ?? [])].map(fullModelName);
  const urls = new Map([...LOCAL_URLS]);
  for (const [provider, { apiKey, baseURL }] of configured) {
    const url = baseURL ?? (apiKey === undefined ? undefined : PUBLIC_URLS.get(provider));
    if (url !== undefined) urls.set(provider, url);
  }
  const asked = [...urls].map(([provider, url]) => modelsOf(provider, url, configured.get(provider) ?? {}));
  const found = (await Promise.all(asked)).flat();
  const all = new Map<string, ModelOffer>();
  for (const offer of [
    ...named.map((name) => offerOf(name, configured)),
    ...found,
    offerOf('offline', configured),
  ])
    all.set(offer.name, { ...offer, ...pickKnown(all.get(offer.name)) });
  return [...all.values()];
}

/**
 * A name that the provider lists without its prefix, such as `llama3.2` for `ollama:llama3.2`. @returns the name
 * itself if no model, or more than one, has it.
 */
export async function findModelName(name: string, config: Listed): Promise<string> {
  const full = fullModelName(name);
  if (full.includes(':') || full === 'offline') return full;
  const fits = (await listModels(config)).filter(
    (offer) => offer.name.split(':').slice(1).join(':') === name,
  );
  return fits.length === 1 ? (fits[0]?.name ?? name) : name;
}

function pickKnown(offer: ModelOffer | undefined): Partial<ModelOffer> {
  if (offer === undefined) return {};
  return {
    ...(offer.contextWindow !== null && { contextWindow: offer.contextWindow }),
    ...(offer.cost !== null && { cost: offer.cost }),
  };
}

function offerOf(name: string, configured: ReadonlyMap<string, ProviderConfig>): ModelOffer {
  const { contextWindow = null, cost } = configured.get(name.split(':', 1)[0] ?? '') ?? {};
  return {
    name,
    contextWindow,
    cost: cost === undefined ? null : { input: cost.input, output: cost.output },
  };
}

async function modelsOf(provider: string, url: string, options: ProviderConfig): Promise<ModelOffer[]> {
  const { apiKey, headers } = options;
  const keyed =
    apiKey === undefined
      ? {}
      : provider === 'anthropic'
        ? { 'x-api-key': apiKey, 'anthropic-version': ANTHROPIC_VERSION }
        : { authorization: `Bearer ${apiKey}` };
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/models`, {
      headers: { ...keyed, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error', // a redirect could send the key elsewhere
    });
    const text = await response.text();
    if (!response.ok || text.length > MAX_ANSWER_CHARS) return [];
    const answer: unknown = JSON.parse(text);
    const rows: unknown[] = isObject(answer) && Array.isArray(answer['data']) ? answer['data'] : [];
    const configured = new Map([[provider, options]]);
    return rows.flatMap((row) => {
      const id = isObject(row) ? row['id'] : undefined;
      if (!isObject(row) || typeof id !== 'string' || NO_CHAT.test(id)) return [];
      const offer = offerOf(`${provider}:${id}`, configured);
      const window = [row['max_input_tokens'], row['context_length'], row['max_model_len']].find(
        Number.isSafeInteger,
      );
      return [
        typeof window === 'number' && offer.contextWindow === null
          ? { ...offer, contextWindow: window }
          : offer,
      ];
    });
  } catch {
    return []; // no server on this port, another program, or no network: all are normal
  }
}
