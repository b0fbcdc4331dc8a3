import { setTimeout as delay } from 'node:timers/promises';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { checkTools } from '../check-options.ts';
import type { Tool, ToolSession } from './tool.ts';
import { thrownText } from './tool-output.ts';

/** The tools of a program, or a function that returns them for a session. It is called before each turn. */
export type ToolList =
  | readonly Tool[]
  | ((session: ToolSession) => readonly Tool[] | Promise<readonly Tool[]>);

const LIST_TIMEOUT_MS = 30_000;
const MAX_REASON_CHARS = 1000;

/** The program's tools for a session. A list that was checked when the engine opened is returned as it is. */
export async function toolsFor(
  tools: ToolList,
  { id, sessionKey: key, agentId }: SessionRecord,
  timeoutMs: number = LIST_TIMEOUT_MS,
): Promise<readonly Tool[]> {
  if (typeof tools !== 'function') return tools;
  const waited = new AbortController();
  try {
    const listed: unknown = await Promise.race([
      (async () => tools({ id, key, agentId }))(),
      delay(timeoutMs, undefined, { signal: waited.signal }).then(() => {
        throw failure('CONFIG_INVALID', 'tool.listSlow', { seconds: timeoutMs / 1000 });
      }),
    ]);
    checkTools(listed);
    return listed;
  } catch (error) {
    if (error instanceof RepriseError) throw error;
    const reason = thrownText(error, MAX_REASON_CHARS);
    throw failure('CONFIG_INVALID', 'tool.listFailed', { reason }, { cause: error });
  } finally {
    waited.abort();
  }
}
