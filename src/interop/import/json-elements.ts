import { open } from 'node:fs/promises';
import { readBytes } from './source-files.ts';

/** Where an element of a list is in a file. */
export interface ElementPlace {
  readonly offset: number;
  readonly length: number;
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 92, 91, 93, 123, 125];

/** The objects of the list that a JSON file consists of, found without holding the file in memory. */
export async function findElements(path: string): Promise<readonly ElementPlace[]> {
  const places: ElementPlace[] = [];
  let offset = 0;
  let depth = 0;
  let begin = 0;
  let isText = false;
  let isEscaped = false;
  for await (const chunk of readBytes(path)) {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i];
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) isText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (depth === 1 && byte === OPEN_OBJECT) begin = offset + i;
        depth++;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        depth--;
        if (depth === 1 && byte === CLOSE_OBJECT)
          places.push({ offset: begin, length: offset + i + 1 - begin });
      }
    }
    offset += chunk.length;
  }
  return places;
}

/** @returns undefined if it is no JSON. */
export async function readElement(path: string, { offset, length }: ElementPlace): Promise<unknown> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, offset);
    return JSON.parse(buffer.toString('utf8')) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    await file.close();
  }
}
