import { execFileSync } from 'node:child_process';
import { cliEnv } from './cli-env.ts';

/** Runs an example with `reprise` and its other doors meaning the sources. */
export function runExample(file: string, ...args: readonly string[]): string {
  const index = new URL('../../src/index.ts', import.meta.url).href;
  const client = new URL('../../src/client/index.ts', import.meta.url).href;
  const testing = new URL('../../src/testing/index.ts', import.meta.url).href;
  const hook = `import { registerHooks } from 'node:module';
    const own = { reprise: '${index}', 'reprise/client': '${client}', 'reprise/testing': '${testing}' };
    registerHooks({ resolve: (name, context, next) => next(own[name] ?? name, context) });`;
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  return execFileSync(process.execPath, [...flags, file, ...args], { encoding: 'utf8', env: cliEnv() });
}
