import { expect, test } from 'vitest';
import { AnswerLimit } from '../../../src/engine/turn/answer-limit.ts';

const text = (said: string) => ({ type: 'text_delta', block: 0, text: said }) as const;

test('an answer is cut between characters, never inside one', () => {
  const limit = new AnswerLimit();
  expect(limit.weigh(text('a'))).toEqual({ taken: text('a') });
  const { taken, error } = limit.weigh(text('😀'.repeat(1_000_000)));
  expect(taken).toMatchObject({ text: '😀'.repeat(999_999) });
  expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', details: { limit: 'answer' } });
});

test('a call that does not fit is left out whole', () => {
  const input = { path: 'x'.repeat(2_000_001) };
  const call = { type: 'tool_call', block: 0, id: 'c', name: 'read', input } as const;
  expect(new AnswerLimit().weigh(call)).toMatchObject({
    taken: undefined,
    error: { code: 'LIMIT_EXCEEDED' },
  });
});
