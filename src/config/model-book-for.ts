import { RepriseError } from '../errors.ts';
import type { CreateModelOptions } from './create-model.ts';
import { ModelBook } from './model-book.ts';
import type { Config, ProviderConfig } from './schema.ts';
import { envName } from './settings.ts';

/** Each model gets what is configured for its own provider: the key of one must never reach another. */
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

/** Who starts a program is told which variable to set, not which argument to pass. */
function lacking(name: string, provider: string, what: 'apiKey' | 'baseURL'): RepriseError {
  const variable = envName(`models.${provider}.${what}`);
  const [code, message] =
    what === 'apiKey'
      ? (['MODEL_AUTH', `there is no API key for ${name}`] as const)
      : (['CONFIG_INVALID', `${name} needs the address of its server`] as const);
  return new RepriseError(code, message, {
    details: { provider, next: `Set ${variable}, or choose another model with --model.` },
  });
}
