import { language } from '../strings.ts';

/** What a command answered, in the language of the page; it was done, so it is told, though those words cannot be had. */
export async function inOwnWords(text: string): Promise<string> {
  if (language.value !== 'zh') return text;
  try {
    const { noteInChinese } = await import('../strings-zh-notes.ts');
    return noteInChinese(text);
  } catch {
    return text;
  }
}
