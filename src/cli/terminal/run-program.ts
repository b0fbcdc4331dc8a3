import { spawn } from 'node:child_process';
import { failure } from '../../messages/failure.ts';

/** Runs another program on this terminal and exits with its code. */
export function runProgram([program = '', ...args]: readonly string[], cwd?: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', ...(cwd !== undefined && { cwd }) });
    child.once('error', (cause) => reject(failure('NOT_FOUND', 'cli.noProgram', { program }, { cause })));
    child.once('exit', (code) => {
      process.exitCode = code ?? 1;
      resolve();
    });
  });
}
