import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import type { Reader } from '../read/reader.ts';
import { storeError } from '../store-error.ts';
import type { WriteOutcome } from '../write/writer.ts';
import { StepRunner, type Steps } from './steps.ts';

const READ_OPS: ReadonlySet<string> = new Set(
  'get active list tail read more blob export lines item pending held known changes leases stats index search verify chats chat noted note source sources sourced records copied'.split(
    ' ',
  ),
);

/** Runs read operations: short ones at once, long ones in turns. */
export class Looks {
  readonly #reader: Reader;
  readonly #steps: StepRunner = new StepRunner();

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  look(op: string, args: unknown, answer: (outcome: WriteOutcome) => void): void {
    const done = (value: unknown): void => answer({ ok: true, value });
    const failed = (error: unknown): void => answer({ ok: false, error: storeError(error) });
    try {
      if (!READ_OPS.has(op))
        throw failure('INVALID_INPUT', 'store.unknownOperation', { operation: quoted(op) });
      const run = this.#reader[op as 'get'] as (args: unknown) => unknown;
      const value = run.call(this.#reader, args);
      if (isSteps(value)) this.#steps.run({ steps: value, done, failed });
      else done(value);
    } catch (error) {
      failed(error);
    }
  }

  close(): void {
    this.#steps.stop();
  }
}

function isSteps(value: unknown): value is Steps<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value;
}
