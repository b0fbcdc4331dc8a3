/** For what people read and nobody compares: PostgreSQL's text has no NUL and no half of a pair. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
