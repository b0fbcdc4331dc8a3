import type { Model, ModelRequest } from '../../src/models/model.ts';

/** One promise that users may rely on with every model. Needs no test runner: `run` rejects if it is broken. */
export interface ModelCase {
  readonly name: string;
  run(t: ModelUnderTest): Promise<void>;
}

export interface ModelUnderTest {
  readonly model: Model;
  /** A request that this model always answers with a text of several deltas. */
  readonly ask: ModelRequest;
  /** A request that it answers with a call of the offered tool. */
  readonly askForTool: ModelRequest;
}

/** Opens the model, runs the case, and closes what was opened. */
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
