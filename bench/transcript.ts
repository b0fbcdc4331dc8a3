import {
  encodeLine,
  entryIdForSeq,
  type JsonObject,
  parseTranscript,
  rebuildHistory,
} from '../src/exports/transcript.ts';
import { type Comparison, compare, type Task } from './measure.ts';
import { parseAll } from './payload.ts';

/** A sealed session: turns of a question, a tool round and an answer, about 1 KB a line. */
function session(messages: number): Buffer {
  const header = {
    type: 'session',
    version: 3,
    id: 'bench',
    timestamp: '2025-01-01T00:00:00.000Z',
    cwd: '/bench',
  };
  const lines = [encodeLine(header, { q: 1, e: 1, b: '1/1' })];
  for (let i = 0; i < messages; i++) {
    const entry = {
      type: 'message',
      id: entryIdForSeq(i + 2),
      parentId: i === 0 ? null : entryIdForSeq(i + 1),
      timestamp: '2025-01-01T00:00:00.000Z',
      message: message(i),
    };
    lines.push(encodeLine(entry, { q: i + 2, e: 1, b: '1/1', k: `key-${i}` }));
  }
  return Buffer.from(lines.join(''));
}

function message(i: number): JsonObject {
  const text = `line ${i}: ${'some words of a conversation about code and plans, '.repeat(14)}`;
  const usage = { input: 1200, output: 80, cacheRead: 0, cacheWrite: 0, totalTokens: 1280 };
  const assistant = {
    role: 'assistant',
    api: 'anthropic-messages',
    provider: 'anthropic',
    model: 'claude',
    usage,
  };
  switch (i % 4) {
    case 0:
      return { role: 'user', content: text };
    case 1: {
      const call = {
        type: 'toolCall',
        id: `toolu_${i}`,
        name: 'read_file',
        arguments: { path: `src/file-${i}.ts`, limit: 200 },
      };
      return {
        ...assistant,
        content: [{ type: 'text', text: text.slice(0, 500) }, call],
        stopReason: 'toolUse',
      };
    }
    case 2:
      return {
        role: 'toolResult',
        toolCallId: `toolu_${i - 1}`,
        toolName: 'read_file',
        content: [{ type: 'text', text }],
        isError: false,
      };
    default:
      return { ...assistant, content: [{ type: 'text', text }], stopReason: 'stop' };
  }
}

export function transcriptTasks(messages = 10_000): Task[] {
  // Made by the first round that needs it; the best round counts.
  const bytes = once(() => session(messages));
  const limit = { name: 'JSON.parse of the same lines', run: () => parseAll(bytes()) };
  const size = `${messages.toLocaleString('en')} messages`;
  const entries = once(() => parseTranscript(bytes()).entries);
  const comparisons: Comparison[] = [
    {
      work: `read and verify a sealed file, ${size}`,
      limit,
      ours: { name: 'read', run: () => parseTranscript(bytes()) },
      goal: 1.5,
    },
    ...(['anthropic', 'openai', 'ai-sdk'] as const).map((format) => ({
      work: `project and rebuild for ${format}, ${size}`,
      limit,
      ours: { name: format, run: () => rebuildHistory(entries(), { format }) },
      goal: 2,
    })),
    {
      work: `read, project, rebuild and serialise, ${size}`,
      limit: {
        name: 'JSON.parse and JSON.stringify of the same lines',
        run: () => JSON.stringify(parseAll(bytes())),
      },
      ours: {
        name: 'all',
        run: () => JSON.stringify(rebuildHistory(parseTranscript(bytes()).entries, { format: 'anthropic' })),
      },
      goal: 2,
    },
  ];
  return comparisons.map((comparison) => ({ work: comparison.work, run: () => compare(comparison) }));
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
