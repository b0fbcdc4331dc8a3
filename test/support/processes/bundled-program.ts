import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BUNDLED } from './bundled-command.ts';

/** What tests start again and again, or import in a separate process, and where its source is. */
export type ProgramName =
  | 'driver'
  | 'open-store'
  | 'turn-driver'
  | 'conversation-driver'
  | 'server-driver'
  | 'copy-driver'
  | 'opening-driver';

export const PROGRAMS: Readonly<Record<ProgramName, string>> = {
  driver: 'testing/driver.ts',
  'open-store': 'src/config/open.ts',
  'turn-driver': 'test/support/processes/turn-driver.ts',
  'conversation-driver': 'test/support/processes/conversation-driver.ts',
  'server-driver': 'test/support/server/server-driver.ts',
  'copy-driver': 'test/support/processes/copy-driver.ts',
  'opening-driver': 'test/support/processes/opening-driver.ts',
};

/** Its file in few parts, made before the tests begin; programs that are no tests run the source, which is never old. */
export function bundledProgram(name: ProgramName): string {
  return process.env['VITEST'] === undefined ? resolve(PROGRAMS[name]) : `${BUNDLED}/${name}.js`;
}

/** For the text of a program that opens a store: what it imports `openStore` from. */
export const OPEN_STORE: string = pathToFileURL(bundledProgram('open-store')).href;
