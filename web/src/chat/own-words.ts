import { language } from '../strings.ts';

/** What a command answered, in the language of the page. */
export async function inOwnWords(text: string): Promise<string> {
  if (language.value !== 'zh') return text;
  const { noteInChinese } = await import('../strings-zh-notes.ts');
  return noteInChinese(text);
}
