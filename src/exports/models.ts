/** `reprise/models`: models: AI SDK models, names of models, and what an own model needs. */

export { type AiSdkLanguageModel, type CreateModelOptions, createModel } from '../config/create-model.ts';
export { Answer, type AnswerEnd } from '../models/answer.ts';
export type {
  FinishEvent,
  Model,
  ModelCost,
  ModelEvent,
  ModelRequest,
  ModelStreamOptions,
  ModelTool,
  ThinkingLevel,
  ToolCallEvent,
} from '../models/model.ts';
export { type CallFailure, findContextOverflow } from '../models/model-error.ts';
export { isSilentOverflow, type OverflowNumbers } from '../models/overflow.ts';
