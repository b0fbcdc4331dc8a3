import { isObject } from '../transcript/json.ts';

export const DEFAULT_CONTEXT_TOKENS = 200_000;
export const CONTEXT_WINDOW_HARD_MIN_TOKENS = 16_000;
export const CONTEXT_WINDOW_WARN_BELOW_TOKENS = 32_000;

/** The source of a window's size; `learned` comes from an overflow error, `option` is a limit that a user set. */
export type WindowSource = 'learned' | 'model' | 'modelsConfig' | 'agentDefaults' | 'default' | 'option';

export interface ContextWindowInfo {
  readonly tokens: number;
  readonly source: WindowSource;
}

/** The parts of a configuration about windows; other parts are ignored. */
export interface WindowConfig {
  readonly models?: { readonly providers?: Readonly<Record<string, unknown>> };
  readonly agents?: { readonly defaults?: { readonly contextTokens?: number } };
}

export interface ResolveWindowInput {
  readonly provider?: string | undefined;
  readonly modelId?: string | undefined;
  /** The window that the model declares. */
  readonly contextWindow?: number | undefined;
  readonly config?: WindowConfig | undefined;
  /** Windows from overflow errors, by `provider/model`. */
  readonly learned?: LearnedWindows | undefined;
  /** A limit from an option, flag, agent or session setting; the smallest counts. */
  readonly contextTokens?: number | undefined;
}

/** Takes the first source with a value. An overflow error is a fact and beats every declaration. */
export function resolveContextWindow(input: ResolveWindowInput): ContextWindowInfo {
  const { provider = '', modelId = '', config, learned, contextTokens } = input;
  const known = learned?.[windowKey(provider, modelId)];
  const found: ContextWindowInfo | undefined =
    window(known, 'learned') ??
    window(input.contextWindow, 'model') ??
    window(configuredWindow(config, provider, modelId), 'modelsConfig') ??
    window(config?.agents?.defaults?.contextTokens, 'agentDefaults');
  const own = found ?? { tokens: DEFAULT_CONTEXT_TOKENS, source: 'default' };
  const cap = window(contextTokens, 'option');
  return cap !== undefined && cap.tokens < own.tokens ? cap : own;
}

function window(tokens: unknown, source: WindowSource): ContextWindowInfo | undefined {
  if (typeof tokens !== 'number' || !Number.isFinite(tokens) || tokens < 1) return undefined;
  return { tokens: Math.floor(tokens), source };
}

/** `models.providers[p].models` is a record by model id or a list of models with ids. */
function configuredWindow(config: WindowConfig | undefined, provider: string, modelId: string): unknown {
  const entry = config?.models?.providers?.[provider];
  const models = isObject(entry) ? entry['models'] : undefined;
  let model: unknown;
  if (Array.isArray(models)) model = models.find((one) => isObject(one) && one['id'] === modelId);
  else if (isObject(models)) model = models[modelId];
  return isObject(model) ? model['contextWindow'] : undefined;
}

export type LearnedWindows = Readonly<Record<string, number>>;

function windowKey(provider: string, modelId: string): string {
  return `${provider}/${modelId}`;
}

/** A smaller limit is a misread number, not a window. */
const MIN_LEARNED_TOKENS = 512;

/** Records the window that an overflow error of this model named. */
export function learnWindow(
  learned: LearnedWindows,
  {
    provider,
    modelId,
    limit,
  }: { readonly provider: string; readonly modelId: string; readonly limit?: number | undefined },
): LearnedWindows {
  if (limit === undefined || !Number.isSafeInteger(limit) || limit < MIN_LEARNED_TOKENS) return learned;
  return { ...learned, [windowKey(provider, modelId)]: limit };
}

export interface WindowGuardInput {
  readonly info: ContextWindowInfo;
  readonly warnBelowTokens?: number;
  readonly hardMinTokens?: number;
}

export interface ContextWindowGuard extends ContextWindowInfo {
  readonly shouldWarn: boolean;
  readonly shouldBlock: boolean;
}

export function evaluateContextWindowGuard({
  info: { tokens, source },
  warnBelowTokens = CONTEXT_WINDOW_WARN_BELOW_TOKENS,
  hardMinTokens = CONTEXT_WINDOW_HARD_MIN_TOKENS,
}: WindowGuardInput): ContextWindowGuard {
  return { tokens, source, shouldWarn: tokens < warnBelowTokens, shouldBlock: tokens < hardMinTokens };
}
