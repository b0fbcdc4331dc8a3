import { type SoakReport, soakServer } from '../test/support/server/server-soak.ts';
import type { Scale } from './homes.ts';
import { makeRow, type Row, show, type Task } from './measure.ts';

const CLIENTS = 16;
const APPEND_GOAL_MS = 100;
const DELAY_GOAL_MS = 100;

/**
 * `reprise serve` under clients that never pause (T91; test/support/server/server-load.ts describes them). They
 * share the machine with it, so on few cores the rows hold what the clients cost as well: the note says how much.
 */
export function serverLoadTasks({ serverSeconds: seconds }: Scale): Task[] {
  let report: Promise<SoakReport> | undefined;
  const row = (work: string, goal: number, value: (report: SoakReport) => number): Task => {
    const run = async (): Promise<Row> => {
      report ??= soakServer({ seed: 91, seconds, clients: CLIENTS });
      const found = await report;
      const { findings, cpuPerMessage, clientCpuPerMessage, clientLoopP99, history } = found;
      if (findings.length > 0) throw new Error(findings.slice(0, 5).join('\n'));
      const note =
        `${history.acknowledged} messages answered; each takes the server ${show(cpuPerMessage, 'ms')} ` +
        `of processor time, and the clients ${show(clientCpuPerMessage, 'ms')}, whose own loop was ${show(clientLoopP99, 'ms')} late`;
      const values = { limitValue: goal, oursValue: value(found) };
      return makeRow({ work, limit: 'allowed', ...values, unit: 'ms', goal: 1, note });
    };
    return { work, run };
  };
  const load = `${CLIENTS} clients that append, read, list and listen without a pause`;
  return [
    row(`append to a server under ${load} (p99)`, APPEND_GOAL_MS, ({ appendP99 }) => appendP99),
    row(`event-loop delay of a server under ${load} (p99)`, DELAY_GOAL_MS, ({ loopP99 }) => loopP99),
  ];
}
