/** Calls back before the next paint, or soon where nothing is painted: hidden tabs have no frames. */
export function nextFrame(run: () => void): void {
  if (document.hidden) setTimeout(run, 100);
  else requestAnimationFrame(run);
}
