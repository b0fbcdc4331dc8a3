import { exampleTranscripts } from '../../scripts/make-examples.ts';
import { SseParser } from '../../src/client/sse-parser.ts';
import { parseSessionKey } from '../../src/exports/keys.ts';
import { decodeLine, parseTranscript, rebuildHistory } from '../../src/exports/transcript.ts';
import { RepriseError } from '../../src/index.ts';
import { cpuTimer } from './engine/time-spent.ts';
import { makeFuzzFiles } from './fuzz-files.ts';

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
/** Files cost a thousand times what bytes in memory do. */
const ROUNDS_PER_FILE = 100;
/** A disk may be slow; a loop without end is not over by then. */
const MAX_FILE_MS = 30_000;
const SHOWN = 4000;
const KEYS = [
  'agent:main:main',
  'agent:main:telegram:work:direct:Bob%3A1:thread:7',
  'main:cli:user',
  'agent:a:cron:job:run:1',
  'global',
];
const FRAMES = [
  'id: 1.2\ndata: {"type":"session","sessionId":"s","sessionKey":"agent:main:main"}\n\n',
  ':\n\nid: 1.3\nevent: message\ndata: {"type":"text_delta",\ndata: "text":"é漢🙂"}\n\n',
  '\ufeffretry: 5\r\ndata: a\r\n\r\ndata: b\r\r',
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
  'data: ',
  'id: 9',
  '\r\n\r\n',
  '[['.repeat(200),
];

export async function fuzz({
  seed,
  rounds,
  until = Number.POSITIVE_INFINITY,
}: FuzzOptions): Promise<FuzzReport> {
  const random = mulberry(seed);
  using files = await makeFuzzFiles();
  const corpus = [...exampleTranscripts().values()].map((text) => Buffer.from(text));
  const lines = corpus
    .flatMap((file) => file.toString().trimEnd().split('\n'))
    .map((line) => Buffer.from(line));
  const keys = KEYS.map((key) => Buffer.from(key));
  const frames = FRAMES.map((frame) => Buffer.from(frame));
  const outcomes = new Map<string, number>();
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  let slowestMs = 0;
  let done = 0;
  const meet = async (
    name: string,
    input: Buffer,
    act: (input: Buffer) => string | Promise<string>,
  ): Promise<void> => {
    const spent = cpuTimer();
    const outcome = `${name} ${await outcomeOf(() => act(input))}`;
    const took = spent();
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    slowestMs = Math.max(slowestMs, took);
    const max = name === 'index' || name === 'foreign' ? MAX_FILE_MS : MAX_CALL_MS;
    if (took > max)
      throw new Error(`${name} of round ${done} took ${took} ms: ${input.toString('base64', 0, SHOWN)}`);
  };
  for (; done < rounds && performance.now() < until; done++) {
    await meet('line', mutate(pick(lines, random), random), (input) => decodeLine(input).kind);
    await meet('file', mutate(pick(corpus, random), random), (input) => {
      const { entries } = parseTranscript(input);
      return rebuildHistory(entries, { format: 'anthropic' }).length > 0 ? 'messages' : 'empty';
    });
    await meet('key', mutate(pick(keys, random), random), (input) => parseSessionKey(input.toString()).kind);
    const cut = random();
    await meet('sse', mutate(pick(frames, random), random), (input) => {
      const parser = new SseParser();
      const at = Math.floor(cut * input.length);
      const heard = [...parser.feed(input.subarray(0, at)), ...parser.feed(input.subarray(at))];
      return heard.length > 0 ? 'messages' : 'nothing';
    });
    if (done % ROUNDS_PER_FILE !== 0) continue;
    await meet('index', mutate(files.index, random), files.openIndex);
    await meet('foreign', mutate(files.foreign, random), files.openForeign);
  }
  if (Object.getOwnPropertyNames(Object.prototype).join() !== before)
    throw new Error('Object.prototype has changed');
  return { rounds: done, slowestMs, outcomes };
}

async function outcomeOf(act: () => string | Promise<string>): Promise<string> {
  try {
    return await act();
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
