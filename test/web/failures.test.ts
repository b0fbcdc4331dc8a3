import { expect, test } from 'vitest';
import { RepriseError } from '../../src/errors.ts';
import { problemOf } from '../../src/protocol/problem.ts';
import { failureText } from '../../web/src/stores/api.ts';
import { inTab } from './support/stand-on.ts';

inTab();

/** As a client throws what a server answers. */
function answered(error: RepriseError): RepriseError {
  const { error: message, details } = problemOf(error, '/x');
  return new RepriseError(error.code, message, { details });
}

test('a person reads the step of whoever failed, and no line that is for programs', () => {
  const message = 'a turn is running';
  expect(failureText(answered(new RepriseError('SESSION_BUSY', message)))).toBe(message);
  const own = new RepriseError('SESSION_BUSY', message, { details: { next: 'Press Stop.' } });
  expect(failureText(answered(own))).toBe(`${message}. Press Stop.`);
});

test('a server of another version is told of, also before the words for it are there', () => {
  const message = 'nothing is at /api/new-things';
  expect(failureText(new RepriseError('NOT_FOUND', message))).toBe(message);
});
