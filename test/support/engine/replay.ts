const TRIES = 20;

/**
 * For a scene that a machine may be too slow or too fast for: played again until it was the one that is asked for. What
 * is asserted in it is asserted each time; a scene that never comes about fails its test.
 */
export async function replay(scene: string, play: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < TRIES; i++) if (await play()) return;
  throw new Error(`not once in ${TRIES} tries: ${scene}`);
}
