import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import type { HistoryReport } from '../../../testing/crash/judge.ts';
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
  /** The same of the clients, who have little to do: what of it is the machine's. */
  readonly clientLoopP99: number;
  /** Processor time of the server, all its threads, for each message that was taken in and answered. */
  readonly cpuPerMessage: number;
  /** The same of those that load it, who share its machine. */
  readonly clientCpuPerMessage: number;
  readonly line: string;
}

const CPU = 'process_cpu_seconds_total';
const SESSIONS = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'] as const;

/** T91: clients of every kind at one server for a while, without faults: nothing fails, nothing is slow, all is kept. */
export async function soakServer({ seed, seconds, clients = 16 }: SoakOptions): Promise<SoakReport> {
  const queue = JSON.stringify({ mode: 'followup', debounceMs: 0 });
  await using server = await ServeProcess.start({ env: { REPRISE_SESSION_QUEUE: queue } });
  // The delay is that since the last look, and starting is slow.
  const before = (await ask(server.port, '/metrics')).text;
  const spent = process.cpuUsage();
  const late = monitorEventLoopDelay({ resolution: 20 });
  late.enable();
  const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed, clients });
  await wait(seconds * 1000);
  await load.stop();
  const after = (await ask(server.port, '/metrics')).text;
  const { user, system } = process.cpuUsage(spent);
  late.disable();
  const exit = await server.end('SIGTERM');
  const { report, findings } = await judgeServer({ store: 'jsonl', home: server.home }, load, SESSIONS);
  const appendP99 = percentile(load.appendMs, 0.99);
  const loopP99 = metric(after, 'reprise_event_loop_delay_seconds{quantile="0.99"}') * 1000;
  const cpu = (metric(after, CPU) - metric(before, CPU)) * 1000;
  const perMessage = (ms: number): number => ms / Math.max(1, load.acknowledged);
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
    clientLoopP99: late.percentile(99) / 1e6,
    cpuPerMessage: perMessage(cpu),
    clientCpuPerMessage: perMessage((user + system) / 1000),
    line:
      `seed ${seed}: ${clients} clients, ${seconds} s, ${JSON.stringify(counts)}; ${report.line}; append ` +
      `p50 ${percentile(load.appendMs, 0.5).toFixed(1)} p99 ${appendP99.toFixed(1)} ms, loop p99 ${loopP99.toFixed(1)} ms (of the clients ${(late.percentile(99) / 1e6).toFixed(1)}), ` +
      `processor ${perMessage(cpu).toFixed(2)} ms per message, of the clients ${perMessage((user + system) / 1000).toFixed(2)} ms`,
  };
}

function metric(text: string, name: string): number {
  const line = text.split('\n').find((found) => found.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? Number.NaN);
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
