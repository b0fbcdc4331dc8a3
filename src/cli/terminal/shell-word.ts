/** As a person can paste it into a shell: one word, and nothing of it is run (I-50). */
export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
