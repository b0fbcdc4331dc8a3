import { SealedFile } from './sealed-file.ts';

/** Bytes no tool may touch. */
export const SIGNATURE = 'EqQBCkYIBxgCKkD+/signature==';
export const PICTURE = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ',
  mimeType: 'image/png',
};

const MODEL = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-a' };
const USAGE = {
  input: 10,
  output: 20,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 30,
  cost: { input: 0.01, output: 0.02, cacheRead: 0, cacheWrite: 0, total: 0.03 },
};

export interface RichSession {
  readonly file: SealedFile;
  readonly id: Readonly<Record<'question' | 'answer' | 'plan' | 'compaction' | 'detour' | 'leaf', string>>;
}

/**
 * A session with everything in it, as our codec writes it: two compactions, tools, pictures, signed thinking, an
 * abandoned detour with its summary, extension entries, labels, names, settings, and our own side entries.
 */
export function richSession(): RichSession {
  const file = SealedFile.create();
  const say = (content: unknown[], stopReason = 'stop'): string =>
    file.message('assistant', content, { ...MODEL, usage: USAGE, stopReason });

  file.add('custom', { customType: 'reprise.activate', data: { key: 'agent:helper:main' } });
  file.add('model_change', { provider: 'anthropic', modelId: 'claude-a' });
  file.add('thinking_level_change', { thinkingLevel: 'high' });
  file.message('user', '<w1> long ago');
  say([{ type: 'text', text: '<w2> long ago' }]);
  const first = file.message('user', '<w3> kept by the first compaction only');
  file.add('compaction', { summary: '<w4>', firstKeptEntryId: first, tokensBefore: 500 });

  const question = file.message('user', [{ type: 'text', text: '<w5> What is in this picture?' }, PICTURE]);
  file.append([{ type: 'custom', customType: 'reprise.turn', data: { phase: 'start' } }]);
  const call = {
    type: 'toolCall',
    id: 'toolu_1',
    name: 'look',
    arguments: { detail: 'high', list: [1, null] },
  };
  const other = { type: 'toolCall', id: 'toolu_2', name: 'look', arguments: {} };
  say(
    [
      { type: 'thinking', thinking: 'A picture…', thinkingSignature: SIGNATURE },
      { type: 'text', text: '<w6>' },
      call,
      other,
    ],
    'toolUse',
  );
  const result = { toolName: 'look', isError: false, details: { ms: 7 } };
  file.message('toolResult', [{ type: 'text', text: 'A cat.' }, PICTURE], {
    ...result,
    toolCallId: 'toolu_1',
  });
  file.message('toolResult', [{ type: 'text', text: 'failed' }], {
    ...result,
    toolCallId: 'toolu_2',
    isError: true,
  });
  const answer = say([{ type: 'text', text: '<w7> A cat. \u732b \ud83d\udc31' }]);
  file.add('label', { targetId: answer, label: 'the cat' });
  file.add('label', { targetId: question, label: 'to be cleared' });
  file.add('label', { targetId: question });
  file.add('session_info', { name: 'First name' });

  const detour = file.message('user', '<w8> a detour');
  say([{ type: 'text', text: '<w9> a detour' }]);
  file.moveTo(answer);
  file.add('branch_summary', { fromId: detour, summary: '<w10> what the detour found' });
  const plan = file.message('user', '<w11> Make a plan.');
  file.add('custom_message', { customType: 'hint', content: '<w12>', display: true, details: { a: 1 } });
  file.add('custom', { customType: 'todo-list', data: { items: ['x'] } });
  const compaction = file.add('compaction', {
    summary: '<w13> so far',
    firstKeptEntryId: question,
    tokensBefore: 9000,
    tokensAfter: 900,
  });
  file.add('session_info', { name: 'The cat' });
  file.message('bashExecution', undefined, {
    command: 'echo <w14>',
    output: 'ok',
    exitCode: 0,
    cancelled: false,
    truncated: false,
  });
  const [, leaf = ''] = file.append([
    { type: 'thinking_level_change', thinkingLevel: 'low' },
    { type: 'message', message: { role: 'user', content: '<w15> Go on.', timestamp: 1735689700000 } },
  ]);
  file.add('model_change', { provider: 'openai', modelId: 'gpt-x' });
  file.message('user', '<w16> taken back');
  file.moveTo(leaf);
  return { file, id: { question, answer, plan, compaction, detour, leaf } };
}

/** What the session says where it stands. */
export const RICH_WORDS: readonly string[] = [13, 5, 6, 7, 10, 11, 12, 14, 15].map((n) => `<w${n}>`);
