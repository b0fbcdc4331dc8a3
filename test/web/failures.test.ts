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

test('a request that the server does not know asks to reload the page', () => {
  const message = 'nothing is at /api/new-things';
  expect(failureText(new RepriseError('NOT_FOUND', message))).toContain('Reload the page');
});
