/**
 * Replaces characters that PostgreSQL's text cannot hold (NUL, unpaired surrogates). Only for text that is shown and
 * never compared.
 */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
