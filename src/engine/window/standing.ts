import type { Store } from '../../store/port/store.ts';
import { childGroup, runOf } from '../agents/subagent-run.ts';
import { oneLine } from '../commands/command-context.ts';
import { isWaiting } from '../schedule/queue.ts';

const SHOWN_TASK = 120;

/**
 * Running tasks beside a conversation, read from the store: a summary must not depend on a model remembering them.
 */
export async function standingOf({ inbox }: Store, sessionId: string): Promise<string[]> {
  const children = await inbox.pending({ group: childGroup(sessionId) });
  const lines = children.map((item) => {
    const { label } = runOf(item) ?? {};
    const name = label === undefined ? item.sessionKey : `${item.sessionKey} ("${label}")`;
    const state = item.state === 'running' ? 'is running' : 'waits to run';
    return `The child ${name} ${state}: ${oneLine(String(item.body['text']), SHOWN_TASK)}`;
  });
  const waiting = (await inbox.pending(sessionId)).filter(isWaiting).length;
  if (waiting === 0) return lines;
  return [...lines, waiting === 1 ? '1 message waits.' : `${waiting} messages wait.`];
}
