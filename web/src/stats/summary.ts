import type { SessionView } from 'reprise/client';
import { channelOf } from '../stores/session-keys.ts';

export interface Bar {
  readonly name: string;
  readonly value: number;
}

export interface SessionSummary {
  /** The last thirty days, oldest first. */
  readonly days: readonly Bar[];
  readonly agents: readonly Bar[];
  /** An empty name: those that came through no channel. */
  readonly channels: readonly Bar[];
  readonly largest: readonly SessionView[];
}

const DAYS = 30;
const LARGEST = 10;
const DAY_MS = 86_400_000;

export function summarise(list: readonly SessionView[], now: Date): SessionSummary {
  const byDay = new Map<string, number>();
  for (let i = DAYS - 1; i >= 0; i--)
    byDay.set(new Date(now.getTime() - i * DAY_MS).toISOString().slice(0, 10), 0);
  const byAgent = new Map<string, number>();
  const byChannel = new Map<string, number>();
  const add = (to: Map<string, number>, name: string, value: number): unknown =>
    to.set(name, (to.get(name) ?? 0) + value);
  for (const session of list) {
    const day = session.lastAt.slice(0, 10);
    if (byDay.has(day)) add(byDay, day, 1);
    add(byAgent, session.agentId, session.messageCount);
    add(byChannel, channelOf(session) ?? '', session.messageCount);
  }
  const bars = (from: Map<string, number>): Bar[] => [...from].map(([name, value]) => ({ name, value }));
  const most = (from: Map<string, number>): Bar[] => bars(from).sort((a, b) => b.value - a.value);
  return {
    days: bars(byDay),
    agents: most(byAgent),
    channels: most(byChannel),
    largest: list.toSorted((a, b) => b.tokenEstimate - a.tokenEstimate).slice(0, LARGEST),
  };
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** As disks are sold: 79,712,000,000 is `80 GB`. */
export function shortBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit++) value /= 1000;
  return `${value < 9.95 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
