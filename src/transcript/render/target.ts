/** What one family of model APIs asks of a request. Data, so that no rule below asks who the provider is. */
export type ProviderFamily =
  | 'anthropic'
  | 'openai'
  | 'openai-responses'
  | 'gemini'
  | 'bedrock'
  | 'mistral'
  | 'local'
  /** Not known: what every other family accepts, except Mistral's nine-character ids. */
  | 'generic';

export interface ImageLimits {
  readonly maxCount: number;
  /** Of one image, as base64 characters: that is what travels. */
  readonly maxBytes: number;
  /** Of all images together; leaves room for text below the request limit. */
  readonly maxTotalBytes: number;
  readonly maxSide: number;
  /** From more than this many images on, `maxSideOfMany` applies to all of them. */
  readonly many: number;
  readonly maxSideOfMany: number;
}

export interface FamilyRules {
  readonly callId: { readonly pattern: RegExp; readonly length: number; readonly exact?: boolean };
  /** Whether a tool result may hold images; else they follow in a user message. */
  readonly toolImages: boolean;
  /** `api` names whose thinking blocks this family takes back. Empty: thinking never travels. */
  readonly thinkingApis: readonly string[];
  /** Whether a user may speak right after a tool; else an assistant line goes between. */
  readonly userAfterTool: boolean;
  /** Stands in for the thought signature of a call another model made, where the API wants one. */
  readonly foreignCallSignature?: string;
  readonly images: ImageLimits;
}

const MiB = 1024 * 1024;

const IMAGES: ImageLimits = {
  maxCount: 100,
  maxBytes: 5 * MiB,
  maxTotalBytes: 22 * MiB,
  maxSide: 8000,
  many: 20,
  maxSideOfMany: 2000,
};

const DASHED = /[^a-zA-Z0-9_-]/g;
const ALPHANUMERIC = /[^a-zA-Z0-9]/g;

const OPENAI: FamilyRules = {
  callId: { pattern: DASHED, length: 40 },
  toolImages: false,
  thinkingApis: [],
  userAfterTool: true,
  images: IMAGES,
};

const GEMINI: FamilyRules = {
  ...OPENAI,
  callId: { pattern: ALPHANUMERIC, length: 40 },
  foreignCallSignature: 'skip_thought_signature_validator',
};

export const FAMILY_RULES: Readonly<Record<ProviderFamily, FamilyRules>> = {
  anthropic: {
    callId: { pattern: DASHED, length: 64 },
    toolImages: true,
    thinkingApis: ['anthropic', 'anthropic-messages'],
    userAfterTool: true,
    images: IMAGES,
  },
  openai: OPENAI,
  'openai-responses': OPENAI,
  gemini: GEMINI,
  bedrock: { ...OPENAI, callId: { pattern: DASHED, length: 64 } },
  mistral: { ...OPENAI, callId: { pattern: ALPHANUMERIC, length: 9, exact: true }, userAfterTool: false },
  local: { ...OPENAI, userAfterTool: false },
  generic: { ...GEMINI, userAfterTool: false },
};

/** Whom a projection is for. Thinking and signatures stay only for the very model that made them (J5). */
export interface Target {
  readonly family: ProviderFamily;
  readonly provider?: string;
  readonly model?: string;
  /** Only what every provider takes: no thinking, no images, short call ids, no user message right after a tool. */
  readonly strict?: boolean | undefined;
}

export function rulesFor({ family, strict = false }: Target): FamilyRules {
  const rules = FAMILY_RULES[family];
  if (!strict) return rules;
  const { callId, userAfterTool } = FAMILY_RULES.mistral;
  const images = { ...rules.images, maxCount: 0 };
  return { ...rules, callId, userAfterTool, toolImages: false, thinkingApis: [], images };
}
