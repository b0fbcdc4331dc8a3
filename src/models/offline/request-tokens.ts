import { estimateTextTokens } from '../../context/estimate.ts';
import { estimateMessagesTokens, estimateToolTokens } from '../../context/estimate-message.ts';
import type { ModelRequest } from '../model.ts';

/** The estimated size of a request: the same numbers that the guard uses. */
export function requestTokens({ system = '', messages, tools = [] }: ModelRequest): number {
  return estimateTextTokens(system) + estimateToolTokens(tools) + estimateMessagesTokens(messages);
}
