import { expect, test } from 'vitest';
import { RepriseError } from '../../src/errors.ts';
import { failure } from '../../src/messages/failure.ts';
import { problemOf } from '../../src/protocol/problem.ts';
import { failureText } from '../../web/src/api/api.ts';
import { inTab } from './support/stand-on.ts';

inTab();

/** As a client throws the problem of a server. */
function received(error: RepriseError): RepriseError {
  const { error: message, why, details } = problemOf(error, '/x');
  return new RepriseError(error.code, message, { why, details });
}

test('a person reads the next step of the failure, and no step that is for programs', () => {
  const message = 'a turn is running';
  expect(failureText(received(new RepriseError('SESSION_BUSY', message)))).toBe('A turn is running.');
  const own = new RepriseError('SESSION_BUSY', message, { details: { next: 'Press Stop.' } });
  expect(failureText(received(own))).toBe('A turn is running. Press Stop.');
  const coded = received(failure('SESSION_BUSY', 'turn.running'));
  expect(failureText(coded)).toBe('A turn is running. Wait for it, or stop it with /stop.');
});

test('a code of a newer server is shown in the English of that server', () => {
  const why = { code: 'moon.full', params: {} } as never;
  const newer = new RepriseError('NOT_FOUND', 'the moon is full', { why, details: { next: 'Wait.' } });
  expect(failureText(newer)).toBe('The moon is full. Wait.');
});

test('a route that the server does not have asks to reload the page', () => {
  const unknown = failure('NOT_FOUND', 'request.noRoute', { path: '/api/new-things' });
  expect(failureText(received(unknown))).toContain('Reload the page');
});
