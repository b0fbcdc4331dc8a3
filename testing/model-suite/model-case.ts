import type { Model, ModelRequest } from '../../src/models/model.ts';

/** One thing a user may rely on, whatever model is behind it. Needs no test runner: `run` rejects where it fails. */
export interface ModelCase {
  readonly name: string;
  run(t: ModelUnderTest): Promise<void>;
}

export interface ModelUnderTest {
  readonly model: Model;
  /** A request this model answers with a text of several deltas, as often as it is sent. */
  readonly ask: ModelRequest;
  /** One it answers with a call of the tool that is offered. */
  readonly askForTool: ModelRequest;
}

/** Opens, runs, and closes what was opened with it. */
export async function runModelCase(
  modelCase: ModelCase,
  open: () => Promise<ModelUnderTest & Partial<AsyncDisposable>>,
): Promise<void> {
  const opened = await open();
  try {
    await modelCase.run(opened);
  } finally {
    await opened[Symbol.asyncDispose]?.();
  }
}
