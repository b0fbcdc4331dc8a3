/** What is on the terminal for a moment only: a progress bar, or the lines below an answer. */
let eraseNow: (() => void) | undefined;

/** Every line that the CLI prints calls this first, so that no output begins behind something transient. */
export function eraseTransient(): void {
  const erase = eraseNow;
  eraseNow = undefined;
  erase?.();
}

/** @param erase removes what was just drawn. */
export function drewTransient(erase: () => void): void {
  eraseNow = erase;
}
