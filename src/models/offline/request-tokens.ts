import { estimateTextTokens } from '../../context/estimate.ts';
import { estimateMessagesTokens, estimateToolTokens } from '../../context/estimate-message.ts';
import type { ModelRequest } from '../model.ts';

/** What a request weighs by the estimator: the same numbers the guard plans with. */
export function requestTokens({ system = '', messages, tools = [] }: ModelRequest): number {
  return estimateTextTokens(system) + estimateToolTokens(tools) + estimateMessagesTokens(messages);
}
