import { RepriseError } from '../errors.ts';
import type { Backend } from './backend.ts';
import type { Options } from './options.ts';

export async function openRemoteBackend(url: string, _options: Options): Promise<Backend> {
  throw new RepriseError('CONNECT_FAILED', `no server answered at ${url}`);
}
