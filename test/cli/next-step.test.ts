import { afterEach, expect, test, vi } from 'vitest';
import { sayFailure } from '../../src/cli/repl/failure.ts';
import { printError } from '../../src/cli/terminal/print.ts';
import { ERROR_TABLE, type ErrorCode, RepriseError } from '../../src/errors.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

const CODES = Object.keys(ERROR_TABLE) as ErrorCode[];

function told(tell: () => void): string[] {
  let text = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  tell();
  return text.trimEnd().split('\n');
}

test.each(CODES)('%s says what to do next, from any source', (code) => {
  const error = new RepriseError(code, 'it went wrong');
  for (const tell of [() => printError(error), () => sayFailure(error)]) {
    const [cause, next = '', ...more] = told(tell);
    expect(cause).toBe(`reprise: it went wrong (${code})`);
    expect(next).toMatch(/^\S.*[.:>]/);
    expect(more).toEqual([]);
  }
});
