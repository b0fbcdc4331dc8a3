export {
  createScriptedModel,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
} from '../src/models/scripted/scripted-model.ts';
export {
  type Answer,
  type DriverCommand,
  type DriverExit,
  type DriverOptions,
  type DriverProcess,
  type DriverSignal,
  startDriver,
} from './crash/driver-process.ts';
export {
  type FaultAction,
  type FaultCall,
  type FaultPlan,
  type FiredFault,
  faultEnv,
  faultShimSupport,
  readFaultLog,
} from './crash/fault-shim.ts';
export {
  type Attempt,
  type AttemptInit,
  type AttemptOutcome,
  createHistory,
  type History,
} from './crash/history.ts';
export { assertClean, type HistoryReport, judgeHistory, readSession, type SeenEntry } from './crash/judge.ts';
export { type CrashReport, type CrashRoundsOptions, crashRounds } from './crash/nemesis.ts';
export { type PowerCutReport, type PowerCutRoundsOptions, powerCutRounds } from './crash/power-cut-rounds.ts';
export { serveStore } from './crash/serve.ts';
export { type ModelCase, type ModelUnderTest, modelCases, runModelCase } from './model-suite/index.ts';
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
  type StoreCaseOptions,
  type StoreUnderTest,
  storeCases,
} from './store-suite/index.ts';
export {
  ANTHROPIC_FAILURES,
  type AnthropicServerOptions,
  openAnthropicServer,
} from './wire/anthropic-server.ts';
export { OPENAI_FAILURES, type OpenAiServerOptions, openOpenAiServer } from './wire/openai-server.ts';
export type {
  WireAnswer,
  WireBlock,
  WireBreak,
  WireDelivery,
  WireFailure,
  WireReply,
  WireStop,
  WireUsage,
} from './wire/wire-answer.ts';
export type { WireRequest, WireServer, WireStep } from './wire/wire-server.ts';
