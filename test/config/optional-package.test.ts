import { expect, test } from 'vitest';
import { loadWith } from '../../src/config/optional-package.ts';

test('a missing optional package is an error that names the command to install it', async () => {
  const missing = 'no-such-package-at-all';
  await expect(loadWith(missing, () => import(/* @vite-ignore */ missing))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    details: { package: missing, next: `Install it: npm install ${missing}` },
  });
  const other = Object.assign(new Error("Cannot find package 'other'"), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(loadWith('pg', () => Promise.reject(other))).rejects.toBe(other);
});
