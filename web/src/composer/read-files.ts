import type { Picture } from '../conversation/pending.ts';

export interface ReadFiles {
  readonly pictures: readonly Picture[];
  /** Text files as they go into the field. */
  readonly texts: readonly string[];
  readonly refused: readonly FileRefusal[];
}

export interface FileRefusal {
  readonly name: string;
  readonly why: 'size' | 'type' | 'empty';
}

const MAX_TEXT_BYTES = 100_000;

let count = 0;

/** Images as the API takes them, text files as text. */
export async function readFiles(files: readonly File[]): Promise<ReadFiles> {
  const pictures: Picture[] = [];
  const texts: string[] = [];
  const refused: FileRefusal[] = [];
  for (const file of files)
    if (file.type.startsWith('image/'))
      pictures.push({ name: `${++count} ${file.name}`, mimeType: file.type, data: await base64(file) });
    else {
      const text = await textOf(file);
      if (text === undefined) refused.push({ name: file.name, why: whyRefused(file) });
      else texts.push(quote(file.name, text));
    }
  return { pictures, texts, refused };
}

function whyRefused({ size }: File): FileRefusal['why'] {
  if (size === 0) return 'empty';
  return size > MAX_TEXT_BYTES ? 'size' : 'type';
}

/** @returns undefined for what is too large, empty (a folder too) or no text. The type of a file is often unknown. */
async function textOf(file: File): Promise<string | undefined> {
  if (file.size === 0 || file.size > MAX_TEXT_BYTES) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** In a fence that nothing in it can close. */
function quote(name: string, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${name}\n${fence}\n${text.replace(/\n$/, '')}\n${fence}`;
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
