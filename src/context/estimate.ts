/** Rough on purpose and never zero for text: a stand-in until the calibrated estimate takes its place. */
export function estimateTextTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 3.5);
}
