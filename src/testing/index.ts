export { validateAiSdkMessages } from './providers/ai-sdk.ts';
export { validateAnthropicMessages } from './providers/anthropic.ts';
export { validateBedrock } from './providers/bedrock.ts';
export { validateGemini } from './providers/gemini.ts';
export { validateLocalTemplate } from './providers/local-template.ts';
export { validateMistral } from './providers/mistral.ts';
export { validateOpenAiChat } from './providers/openai-chat.ts';
export { validateOpenAiResponses } from './providers/openai-responses.ts';
export type { Violation } from './providers/violation.ts';
export {
  runStoreCase,
  type StoreArea,
  type StoreCase,
  type StoreUnderTest,
  storeCases,
} from './store-suite/index.ts';
