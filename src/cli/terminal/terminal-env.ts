/** The variables by which a terminal describes itself. */
export function terminalEnv(): NodeJS.ProcessEnv {
  return process.env;
}

/** As libraries understand it that color their own output. */
export function noColors(): void {
  process.env['NO_COLOR'] = '1';
  delete process.env['FORCE_COLOR'];
}
