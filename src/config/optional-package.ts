import { failure } from '../messages/failure.ts';

/** Loads a module that needs an optional package. A missing package is reported with the command that installs it. */
export async function loadWith<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(name, error)) throw error;
    throw failure(
      'CONFIG_INVALID',
      'package.missing',
      { name },
      { details: { package: name }, cause: error },
    );
  }
}

function isMissing(name: string, error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const isNotFound = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
  return isNotFound && String(message).includes(`'${name}'`);
}
