import { estimateMessagesTokens, estimateTextTokens } from '../src/exports/context.ts';
import { compare, type Row, type Task } from './measure.ts';

const WORDS = 'some words of a conversation about code, plans and what to do next (see src/main.ts:42), ';
const CODE =
  'export function next(id: string, { limit = 20 }: Options = {}): Promise<Page> {\n  return read(id, limit);\n}\n';
const CHINESE = '数据库在写入之前会先把改动记录到日志里，这样即使机器突然断电也能恢复。';

/** Short enough for a round without an interruption. */
const KILOBYTES = 500;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** A flat string: a rope would be flattened in the first round, which is not what is measured. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}

function repeated(text: string, units: number): string {
  return flat(text.repeat(Math.ceil(units / text.length)).slice(0, units));
}

function noise(units: number): string {
  let state = 1;
  let text = '';
  for (let i = 0; i < units; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += LETTERS[state >>> 26];
  }
  return flat(text);
}

/** What any pass over a text costs at least. */
function readUnits(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum += text.charCodeAt(i);
  return sum;
}

/** No input takes more than its share: twice as long is twice the time. */
const HOSTILE: Readonly<Record<string, (units: number) => string>> = {
  'one letter': (units) => repeated('a', units),
  'base64 without an end': noise,
  'rows of marks': (units) => repeated('",{}[]|', units),
  emoji: (units) => repeated('👨‍👩‍👧‍👦', units),
};

export function estimateTasks(): Task[] {
  const texts: Readonly<Record<string, string>> = { 'English and code': WORDS + CODE, Chinese: CHINESE };
  const passes = Object.entries(texts).map(([name, sample]): Task => {
    const work = `estimate the tokens of ${KILOBYTES} KB of ${name}`;
    const run = (): Row => {
      const text = repeated(
        sample,
        Math.round((KILOBYTES * 1000 * sample.length) / Buffer.byteLength(sample)),
      );
      const row = compare({
        work,
        limit: { name: 'charCodeAt of every unit', run: () => readUnits(text) },
        ours: { name: 'estimate', run: () => estimateTextTokens(text) },
        goal: 8,
      });
      return { ...row, note: `${(KILOBYTES / row.oursValue).toFixed(0)} MB/s, goal 100` };
    };
    return { work, run };
  });
  const growth = Object.entries(HOSTILE).map(([name, make]): Task => {
    const work = `estimate 200,000 units of hostile text: ${name}`;
    const run = (): Row => {
      const half = make(100_000);
      const whole = make(200_000);
      return compare({
        work,
        limit: { name: 'half of it', run: () => estimateTextTokens(half) },
        ours: { name: 'all of it', run: () => estimateTextTokens(whole) },
        goal: 2.5,
      });
    };
    return { work, run };
  });
  return [...passes, ...growth, contextTask()];
}

function contextTask(): Task {
  const work = 'estimate the messages of a 50,000-token context';
  const run = (): Row => {
    const text = repeated(WORDS + CODE, 4000);
    const messages = Array.from({ length: 45 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: [{ type: 'text', text: flat(`${i} ${text}`) }],
    }));
    const row = compare({
      work,
      limit: { name: 'JSON.stringify of them', run: () => JSON.stringify(messages) },
      ours: { name: 'estimate', run: () => estimateMessagesTokens(messages) },
      goal: 8,
    });
    return { ...row, note: `${estimateMessagesTokens(messages).toLocaleString('en')} tokens, goal 5 ms` };
  };
  return { work, run };
}
