import { setTimeout as wait } from 'node:timers/promises';
import type { HistoryReport } from '../../src/testing/crash/judge.ts';
import { ask } from './http.ts';
import { judgeServer } from './judge-server.ts';
import { ServeProcess } from './serve-process.ts';
import { ServerLoad } from './server-load.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly clients?: number;
}

export interface SoakReport {
  /** Everything that should not have been, of clients and of the judge. */
  readonly findings: readonly string[];
  readonly history: HistoryReport;
  readonly appendP99: number;
  readonly loopP99: number;
  readonly line: string;
}

const SESSIONS = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'] as const;

/** T91: clients of every kind at one server for a while, without faults: nothing fails, nothing is slow, all is kept. */
export async function soakServer({ seed, seconds, clients = 16 }: SoakOptions): Promise<SoakReport> {
  const queue = JSON.stringify({ mode: 'followup', debounceMs: 0 });
  await using server = await ServeProcess.start({ env: { REPRISE_SESSION_QUEUE: queue } });
  await ask(server.port, '/metrics'); // the delay is that since the last look, and starting is slow
  const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed, clients });
  await wait(seconds * 1000);
  await load.stop();
  const metrics = (await ask(server.port, '/metrics')).text;
  const exit = await server.end('SIGTERM');
  const { report, findings } = await judgeServer({ store: 'jsonl', home: server.home }, load, SESSIONS);
  const [, loop = 'NaN'] = /^reprise_event_loop_delay_seconds\{quantile="0.99"\} (\S+)$/m.exec(metrics) ?? [];
  const [appendP99, loopP99] = [percentile(load.appendMs, 0.99), Number(loop) * 1000];
  const { counts, errors } = load;
  return {
    findings: [
      ...errors,
      ...findings,
      ...report.findings,
      ...(exit === 0 ? [] : [`the server ended with ${exit}`]),
      ...(counts.lost === 0 ? [] : [`${counts.lost} requests had no answer`]),
      ...(report.unknown === 0 ? [] : [`${report.unknown} messages are unknown`]),
    ],
    history: report,
    appendP99,
    loopP99,
    line:
      `seed ${seed}: ${clients} clients, ${seconds} s, ${JSON.stringify(counts)}; ${report.line}; append ` +
      `p50 ${percentile(load.appendMs, 0.5).toFixed(1)} p99 ${appendP99.toFixed(1)} ms, loop p99 ${loopP99.toFixed(1)} ms`,
  };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
