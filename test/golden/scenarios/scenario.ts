import type { ScriptedStep } from '../../../testing/index.ts';
import type { World, WorldOptions } from '../world.ts';

/** One short story of an engine. Its name is the name of its golden file. */
export interface Scenario {
  readonly name: string;
  readonly options?: WorldOptions;
  readonly script: readonly ScriptedStep[];
  play(world: World): Promise<void>;
}
