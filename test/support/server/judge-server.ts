import { contentText } from '../../../src/transcript/content.ts';
import { isObject } from '../../../src/transcript/json.ts';
import { type DriverOptions, startDriver } from '../../../testing/crash/driver-process.ts';
import {
  type HistoryReport,
  judgeHistory,
  readSession,
  type SeenEntry,
} from '../../../testing/crash/judge.ts';
import type { ServerLoad } from './server-load.ts';

export interface ServerVerdict {
  readonly report: HistoryReport;
  /** What the checker of appends does not look at: numbers, answers, ends. */
  readonly findings: readonly string[];
}

const HEADER: SeenEntry = { seq: 1, entry: { type: 'session' } };

/**
 * What a new process finds in a store after its server is gone: everything clients were sent, once and in order, and
 * one whole answer after each message.
 */
export async function judgeServer(
  options: DriverOptions,
  load: ServerLoad,
  sessions: readonly string[],
): Promise<ServerVerdict> {
  await using driver = await startDriver(options);
  const findings: string[] = [];
  const spoken = new Map<string, readonly SeenEntry[]>();
  const ends = new Map<string, string[]>();
  for (const id of sessions) {
    const seen = await readSession(driver, id, { limit: 500 });
    for (const [at, { seq }] of seen.entries()) if (seq !== at + 1) findings.push(`${id}: a gap at ${seq}`);
    findings.push(...judgeAnswers(id, seen));
    for (const { entry } of seen) collectEnd(entry, ends);
    // The checker knows appends; answers stand between them and have their own judge.
    const said = seen.filter(({ entry }) => roleOf(entry) === 'user');
    spoken.set(id, [HEADER, ...said.map(({ entry }, at) => ({ seq: at + 2, entry }))]);
  }
  for (const [inboxId, found] of ends)
    if (found.length > 1) findings.push(`${inboxId} ended ${found.length} times`);
  for (const [inboxId, { sessionId, ends: heard }] of load.told) {
    if (heard.length !== 1) findings.push(`${sessionId}: ${inboxId} was told ${heard.length} ends`);
    if (ends.get(inboxId)?.join() !== heard.join())
      findings.push(`${inboxId} was told ${heard.join()}, and is ${ends.get(inboxId)?.join()}`);
  }
  const { status, findings: damage } = await driver.send({ op: 'verify' });
  if (status !== 'clean') findings.push(`verify: ${String(status)} ${JSON.stringify(damage)}`);
  await driver.stop();
  return { report: judgeHistory(load.history, spoken), findings };
}

/** One whole answer between a message and the next, about that message. */
function judgeAnswers(id: string, seen: readonly SeenEntry[]): string[] {
  const wrong: string[] = [];
  let asked: string | undefined;
  let answers = 0;
  const close = (): void => {
    if (asked !== undefined && answers !== 1)
      wrong.push(`${id}: ${asked.slice(0, 20)} has ${answers} answers`);
  };
  for (const { entry } of seen) {
    const role = roleOf(entry);
    if (role === 'user') {
      close();
      asked = textIn(entry);
      answers = 0;
    }
    if (role !== 'assistant') continue;
    answers++;
    const text = textIn(entry);
    if (asked === undefined || !text.includes(asked.slice(0, 500)))
      wrong.push(`${id}: ${asked?.slice(0, 20)} is answered with ${text.slice(0, 60)}`);
  }
  close();
  return wrong;
}

function collectEnd({ customType, data }: SeenEntry['entry'], ends: Map<string, string[]>): void {
  if (customType !== 'reprise.turn' || !isObject(data)) return;
  const inboxId = String(data['inboxId']);
  ends.set(inboxId, [...(ends.get(inboxId) ?? []), String(data['status'])]);
}

function roleOf({ message }: SeenEntry['entry']): unknown {
  return isObject(message) ? message['role'] : undefined;
}

function textIn({ message }: SeenEntry['entry']): string {
  return isObject(message) ? contentText(message['content']) : '';
}
