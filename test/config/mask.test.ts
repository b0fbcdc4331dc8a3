import { expect, test } from 'vitest';
import { maskedValue } from '../../src/config/mask.ts';

test.each([
  ['postgres://ada:pa55word@host/db', 'postgres://ada:********@host/db'],
  ['postgres://ada@host/db?password=pa55word', 'postgres://ada@host/db?password=********'],
  // As people write them: a slash, a hash or no scheme, where a parser sees something else than a password.
  ['postgres://ada:12/pa55word@host/db', 'postgres://ada:********@host/db'],
  ['postgres://ada:12/pa55@word@host/db', 'postgres://ada:********@host/db'],
  ['postgres://ada:pa#pa55word@host/db', 'postgres://ada:********@host/db'],
  ['ada:pa55word@host/db', 'ada:********@host/db'],
  ['postgres://ada:12?pa55word@host/db', 'postgres://********'],
  ['postgres://host:5432/db?user=ada&password=p@55word', 'postgres://********'],
  ['https://proxy:8080/v1', 'https://proxy:8080/v1'],
  ['https://host/@scope/v1', 'https://host/@scope/v1'],
  ['claude@home', 'claude@home'],
])('of %s only what is no password is shown', (text, shown) => {
  expect(maskedValue('store.url', text)).toBe(shown);
});
