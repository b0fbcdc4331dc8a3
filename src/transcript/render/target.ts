/** The requirements of one family of model APIs. They are data, so no rule asks for the provider. */
export type ProviderFamily =
  | 'anthropic'
  | 'openai'
  | 'openai-responses'
  | 'gemini'
  | 'bedrock'
  | 'mistral'
  | 'local'
  /** Unknown: what every other family accepts, except Mistral's nine-character ids. */
  | 'generic';

export interface ImageLimits {
  readonly maxCount: number;
  /** Limit of one image in base64 characters, as sent. */
  readonly maxBytes: number;
  /** Limit of all images together; it leaves room for text below the request limit. */
  readonly maxTotalBytes: number;
  readonly maxSide: number;
  /** With more images than this, `maxSideOfMany` applies to all of them. */
  readonly many: number;
  readonly maxSideOfMany: number;
}

export interface FamilyRules {
  readonly callId: { readonly pattern: RegExp; readonly length: number; readonly exact?: boolean };
  /** Whether a tool result may contain images; otherwise they follow in a user message. */
  readonly toolImages: boolean;
  /** `api` names whose thinking blocks this family accepts. Empty: thinking is never sent. */
  readonly thinkingApis: readonly string[];
  /** Whether a user message may directly follow a tool result; otherwise an assistant message is inserted. */
  readonly userAfterTool: boolean;
  /** Replaces the thought signature of another model's call, if the API requires one. */
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

/** The target of a projection. Thinking and signatures are sent only to the model that made them (J5). */
export interface Target {
  readonly family: ProviderFamily;
  readonly provider?: string;
  readonly model?: string;
  /** Only what every provider accepts: no thinking, no images, short call ids, no user message right after a tool. */
  readonly strict?: boolean | undefined;
}

export function rulesFor({ family, strict = false }: Target): FamilyRules {
  const rules = FAMILY_RULES[family];
  if (!strict) return rules;
  const { callId, userAfterTool } = FAMILY_RULES.mistral;
  const images = { ...rules.images, maxCount: 0 };
  return { ...rules, callId, userAfterTool, toolImages: false, thinkingApis: [], images };
}
