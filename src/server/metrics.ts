import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { SessionEvent } from '../engine/events.ts';
import type { Reprise } from '../engine/reprise.ts';

type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly help: string;
  readonly kind: 'counter' | 'gauge';
  readonly values: Map<string, number>;
}

/**
 * Prometheus metrics. Requests and turns are counted as they happen; figures of the store and process are read on
 * request.
 */
export class Metrics implements Disposable {
  readonly #families: Map<string, Family> = new Map();
  readonly #delay: ReturnType<typeof monitorEventLoopDelay> = monitorEventLoopDelay({ resolution: 20 });
  readonly #running: Set<string> = new Set();

  constructor() {
    this.#delay.enable();
  }

  add(name: string, help: string, labels: Labels = {}, by = 1): void {
    const { values } = this.#family(name, help, 'counter');
    const key = labelText(labels);
    values.set(key, (values.get(key) ?? 0) + by);
  }

  set(name: string, help: string, value: number, labels: Labels = {}): void {
    this.#family(name, help, 'gauge').values.set(labelText(labels), value);
  }

  /** Inbox ids of the turns that run in this process. */
  get running(): ReadonlySet<string> {
    return this.#running;
  }

  request(route: string, status: number, seconds: number): void {
    const labels = { route, status: String(status) };
    this.add('reprise_http_requests_total', 'Requests answered.', labels);
    this.add('reprise_http_request_seconds_total', 'Time until the answer began.', { route }, seconds);
  }

  /** Counts engine events until the signal aborts. */
  async watch(reprise: Reprise, signal: AbortSignal): Promise<void> {
    for await (const told of reprise.events({ signal })) this.#count(told);
  }

  #count({ event, inboxId }: SessionEvent): void {
    switch (event.type) {
      case 'turn_start':
        if (inboxId !== undefined) this.#running.add(inboxId);
        break;
      case 'done':
      case 'error': {
        if (inboxId !== undefined) this.#running.delete(inboxId);
        const outcome = event.type === 'done' ? 'done' : event.code;
        this.add('reprise_turns_total', 'Turns that ended here.', { outcome });
        if (event.type === 'error') break;
        for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
          this.add('reprise_tokens_total', 'Tokens of turns that ended here.', { kind }, event.usage[kind]);
        break;
      }
      case 'context_truncated':
      case 'overflow':
        this.add('reprise_guard_steps_total', 'What was done to make a request fit.', { step: event.type });
        break;
      case 'compaction':
        this.add('reprise_guard_steps_total', 'What was done to make a request fit.', { step: event.type });
        this.add('reprise_compactions_total', 'Compactions.', { method: event.method });
        break;
      case 'tool_call':
        this.add('reprise_tool_calls_total', 'Calls of tools.', {});
    }
  }

  /** The text format of Prometheus. */
  async render(reprise: Reprise): Promise<string> {
    const { sessions, bytes, behind, disk } = await reprise.store.stats();
    this.set('reprise_sessions', 'Sessions in the store.', sessions);
    this.set('reprise_store_bytes', 'Bytes of all transcripts.', bytes);
    this.set('reprise_store_behind', 'Sessions whose transcript file is behind.', behind);
    if (disk !== undefined)
      this.set('reprise_disk_free_bytes', 'Free space below the store.', disk.freeBytes);
    for (const [lane, { running, waiting }] of Object.entries(reprise.lanes())) {
      this.set('reprise_lane_running', 'Turns that run, by lane.', running, { lane });
      this.set('reprise_lane_waiting', 'Turns that wait for a place, by lane.', waiting, { lane });
    }
    this.set('reprise_sessions_in_hand', 'Sessions this process keeps in memory.', reprise.sessionsInHand());
    const open = await reprise.store.inbox.pending();
    for (const state of ['accepted', 'running', 'waiting'])
      this.set(
        'reprise_inbox',
        'Messages that are not answered yet.',
        open.filter((row) => row.state === state).length,
        {
          state,
        },
      );
    for (const [quantile, value] of [
      ['0.5', this.#delay.percentile(50)],
      ['0.99', this.#delay.percentile(99)],
      ['1', this.#delay.max],
    ] as const)
      this.set('reprise_event_loop_delay_seconds', 'Event-loop delay since the last look.', value / 1e9, {
        quantile,
      });
    this.#delay.reset();
    const { user, system } = process.cpuUsage();
    const spent = this.#family('process_cpu_seconds_total', 'Processor time of all threads.', 'counter');
    spent.values.set('', (user + system) / 1e6);
    const { rss, heapUsed } = process.memoryUsage();
    this.set('process_resident_memory_bytes', 'Memory of the process.', rss);
    this.set('nodejs_heap_used_bytes', 'Heap in use.', heapUsed);
    return [...this.#families]
      .flatMap(([name, family]) => familyLines(name, family))
      .join('\n')
      .concat('\n');
  }

  [Symbol.dispose](): void {
    this.#delay.disable();
  }

  #family(name: string, help: string, kind: Family['kind']): Family {
    let family = this.#families.get(name);
    if (family === undefined) {
      family = { help, kind, values: new Map() };
      this.#families.set(name, family);
    }
    return family;
  }
}

function familyLines(name: string, { help, kind, values }: Family): string[] {
  const lines = [...values].map(([labels, value]) => `${name}${labels} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines];
}

function labelText(labels: Labels): string {
  const parts = Object.entries(labels).map(([name, value]) => {
    const escaped = value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
    return `${name}="${escaped}"`;
  });
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}
