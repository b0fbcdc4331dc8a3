import { exampleTranscripts } from '../../scripts/make-examples.ts';
import {
  decodeLine,
  parseSessionKey,
  parseTranscript,
  RepriseError,
  rebuildHistory,
} from '../../src/index.ts';

/**
 * T68: mutates good input and feeds it to everything that reads bytes from outside. Only typed errors may come
 * out, no call may take a second, and no prototype may change.
 */
export interface FuzzReport {
  readonly rounds: number;
  readonly slowestMs: number;
  /** How often each outcome was met, so that a fuzzer that only makes garbage is noticed. */
  readonly outcomes: ReadonlyMap<string, number>;
}

export interface FuzzOptions {
  readonly seed: number;
  /** Ends after this many rounds or, where given, at this time. */
  readonly rounds: number;
  readonly until?: number;
}

const MAX_CALL_MS = 1000;
const KEYS = [
  'agent:main:main',
  'agent:main:telegram:work:direct:Bob%3A1:thread:7',
  'main:cli:user',
  'agent:a:cron:job:run:1',
  'global',
];
const TOKENS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '\\',
  '\\u0000',
  '\n',
  '\r',
  '%',
  '%u',
  '__proto__',
  '"type":"session"',
  '"seal":',
  '1e400',
  '\u0000',
  '\ud800',
  'agent:',
  ':thread:',
  '[['.repeat(200),
];

export function fuzz({ seed, rounds, until = Number.POSITIVE_INFINITY }: FuzzOptions): FuzzReport {
  const random = mulberry(seed);
  const corpus = [...exampleTranscripts().values()].map((text) => Buffer.from(text));
  const lines = corpus
    .flatMap((file) => file.toString().trimEnd().split('\n'))
    .map((line) => Buffer.from(line));
  const keys = KEYS.map((key) => Buffer.from(key));
  const outcomes = new Map<string, number>();
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  let slowestMs = 0;
  let done = 0;
  for (; done < rounds && performance.now() < until; done++) {
    const inputs = {
      line: mutate(pick(lines, random), random),
      file: mutate(pick(corpus, random), random),
      key: mutate(pick(keys, random), random),
    };
    for (const [name, act] of Object.entries({
      line: () => decodeLine(inputs.line).kind,
      file: () => {
        const { entries } = parseTranscript(inputs.file);
        return `${rebuildHistory(entries, { format: 'anthropic' }).length > 0 ? 'messages' : 'empty'}`;
      },
      key: () => parseSessionKey(inputs.key.toString()).kind,
    })) {
      const start = performance.now();
      const outcome = `${name} ${outcomeOf(act)}`;
      const took = performance.now() - start;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      slowestMs = Math.max(slowestMs, took);
      if (took > MAX_CALL_MS)
        throw new Error(`${name} took ${took} ms: ${inputs[name as keyof typeof inputs].toString('base64')}`);
    }
  }
  if (Object.getOwnPropertyNames(Object.prototype).join() !== before)
    throw new Error('Object.prototype has changed');
  return { rounds: done, slowestMs, outcomes };
}

function outcomeOf(act: () => string): string {
  try {
    return act();
  } catch (error) {
    if (error instanceof RepriseError) return error.code;
    throw error;
  }
}

function mutate(input: Buffer, random: () => number): Buffer {
  let bytes = Buffer.from(input);
  const times = 1 + Math.floor(random() * 4);
  for (let i = 0; i < times; i++) {
    const at = Math.floor(random() * (bytes.length + 1));
    const to = at + Math.floor(random() * 12);
    const token = Buffer.from(pick(TOKENS, random));
    switch (Math.floor(random() * 6)) {
      case 0:
        if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8));
        break;
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
        break;
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(to)]);
        break;
      case 4:
        bytes = Buffer.concat([bytes, bytes.subarray(at)]);
        break;
      default:
        bytes = bytes.subarray(0, at);
    }
  }
  return bytes;
}

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** A small seeded generator: a failure can be run again. */
function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}
