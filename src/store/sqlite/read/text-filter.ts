/**
 * Decides whether the text in stored bytes can contain the given words, ignoring case. False is certain, true is not;
 * it saves parsing lines that cannot match, which is nearly all of them.
 *
 * It searches for the longest part of the words whose bytes are known: ASCII, which only varies in case, or
 * characters without case, such as Chinese. Words without such a part (Greek or Cyrillic, for example) exclude
 * nothing.
 */
export function createTextFilter(words: string): (bytes: Buffer) => boolean {
  const part = longest(knownParts(words.toLowerCase()));
  if (part === undefined) return () => true;
  const bytesOfPart = Buffer.from(part);
  if (bytesOfPart.length !== part.length) {
    return (bytes) => bytes.includes(bytesOfPart) || hasEscapes(bytes.toString('latin1'));
  }
  // Two characters outside ASCII become ASCII in lower case: the Kelvin sign, and a capital I with a dot.
  const others = [part.includes('k') ? KELVIN : undefined, part.includes('i') ? DOTTED_I : undefined];
  return (bytes) => {
    // Decode as latin1: one byte per character, so ASCII stays intact whatever bytes surround it.
    const text = bytes.toString('latin1');
    if (text.toLowerCase().includes(part) || hasEscapes(text)) return true;
    return others.some((other) => other !== undefined && bytes.includes(other));
  };
}

const KELVIN = Buffer.from('\u212a');
const DOTTED_I = Buffer.from('\u0130');
/** The mark that a dotted capital I leaves when converted to lower case. */
const COMBINING_DOT = '\u0307';
/** ASCII that JSON never escapes. It escapes quotes and backslashes and may escape slashes. */
const PLAIN_ASCII = /^[ !#-.0-[\]-~]$/;

/** Runs of characters whose stored bytes are known. */
function knownParts(words: string): string[] {
  const parts: string[] = [''];
  let previous: 'ascii' | 'caseless' | undefined;
  for (const character of words) {
    const kind = kindOf(character);
    if (kind === undefined || kind !== previous) parts.push('');
    if (kind !== undefined) parts.push((parts.pop() ?? '') + character);
    previous = kind;
  }
  return parts.filter((part) => part !== '');
}

function kindOf(character: string): 'ascii' | 'caseless' | undefined {
  if (PLAIN_ASCII.test(character)) return 'ascii';
  const isAscii = character <= '\u007f';
  const hasCase = character.toLowerCase() !== character || character.toUpperCase() !== character;
  const isWhole = character.isWellFormed() && character !== COMBINING_DOT && character !== '\ufffd';
  return isAscii || hasCase || !isWhole ? undefined : 'caseless';
}

function longest(parts: readonly string[]): string | undefined {
  return parts.toSorted((a, b) => Buffer.byteLength(b) - Buffer.byteLength(a))[0];
}

/** Whether a character may be written as `\uXXXX`. Control characters always are, and no search looks for them. */
function hasEscapes(text: string): boolean {
  for (let at = text.indexOf('\\u'); at !== -1; at = text.indexOf('\\u', at + 2)) {
    const isControl = text.startsWith('00', at + 2) && (text[at + 4] === '0' || text[at + 4] === '1');
    if (!isControl) return true;
  }
  return false;
}
