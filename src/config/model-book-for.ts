import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { CreateModelOptions } from './create-model.ts';
import { ModelBook } from './model-book.ts';
import type { Config, ProviderConfig } from './schema.ts';
import { envName } from './settings.ts';

/** Each model gets only its provider's configuration: a key must never be sent to another provider. */
export function modelBookFor({ models }: Pick<Config, 'models'>): ModelBook {
  const configured = new Map<string, ProviderConfig>(Object.entries(models));
  return new ModelBook((name): CreateModelOptions => {
    const provider = name.split(':', 1)[0] ?? '';
    const options = configured.get(provider) ?? {};
    const missing = NEEDED.get(provider);
    if (missing !== undefined && options[missing] === undefined) throw lacking(name, provider, missing);
    return options;
  });
}

const NEEDED: ReadonlyMap<string, 'apiKey' | 'baseURL'> = new Map([
  ['anthropic', 'apiKey'],
  ['openai', 'apiKey'],
  ['openai-compatible', 'baseURL'],
]);

/** Names the variable to set, because a CLI user cannot pass a library option. */
function lacking(name: string, provider: string, what: 'apiKey' | 'baseURL'): RepriseError {
  const variable = envName(`models.${provider}.${what}`);
  const params = { model: name, variable: variable ?? null };
  const details = { provider };
  return what === 'apiKey'
    ? failure('MODEL_AUTH', 'model.noKey', params, { details })
    : failure('CONFIG_INVALID', 'model.noAddress', params, { details });
}
