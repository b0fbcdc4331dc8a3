/**
 * A server in its own process, to be killed: `node server-driver.ts <home> <port> <answers>`. It prints its address when
 * it listens. An answer that ends with `…` comes word by word and then hangs forever; `#n` is n numbers, which come
 * when a line comes in.
 */
import { createInterface } from 'node:readline';
import { openReprise } from '../../../src/config/open-reprise.ts';
import { createScriptedModel, type ScriptedStep } from '../../../src/models/scripted/scripted-model.ts';
import { serve } from '../../../src/server/serve.ts';

const [home = '', port = '0', answers = '[]'] = process.argv.slice(2);
const never = new Promise<never>(() => undefined);

const texts = JSON.parse(answers) as string[];
const words = (text: string): ScriptedStep => ({ text: text.replace('…', '').match(/\S+\s*/g) ?? [] });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i},`);
const step = (text: string): ScriptedStep =>
  text.startsWith('#') ? { wait: lines.next(), text: numbers(Number(text.slice(1))) } : words(text);
const model = createScriptedModel(
  texts.map((text) => () => step(text)),
  { contextWindow: 10_000_000 },
);
const { stream } = model;
let calls = 0;
model.stream = async function* (request, options) {
  const hangs = texts[calls++]?.endsWith('…') === true;
  let count = 0;
  for await (const event of stream(request, options)) {
    // As a network would: others have their turn in between.
    if (++count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (hangs && event.type === 'finish') await never;
    yield event;
  }
};
const reprise = await openReprise({ home, model, session: { queue: { mode: 'followup' } } });
const logger = {
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => console.error(fields),
};
const { url } = await serve({
  reprise,
  config: {
    port: Number(port),
    token: 'a-token-for-tests-that-is-long-enough',
    limits: { streamBufferBytes: 256 * 1024 },
  },
  logger,
});
process.stdout.write(`${url}\n`);
