/**
 * Says of stored bytes whether any text in them can hold the words that are looked for, ignoring case. A no is
 * certain, a yes is not: it saves parsing what cannot match, which is nearly everything.
 *
 * Only a part of the words is looked for, the longest whose bytes are known: ASCII, which differs in case only, or
 * characters without case, such as Chinese. Words without such a part, in Greek or Cyrillic, rule nothing out.
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
    // Byte by byte: what is ASCII stays where it is, whatever stands around it.
    const text = bytes.toString('latin1');
    if (text.toLowerCase().includes(part) || hasEscapes(text)) return true;
    return others.some((other) => other !== undefined && bytes.includes(other));
  };
}

const KELVIN = Buffer.from('\u212a');
const DOTTED_I = Buffer.from('\u0130');
/** What a dotted capital I leaves behind in lower case. */
const COMBINING_DOT = '\u0307';
/** As it stands in JSON, where quotes and backslashes are escaped and a slash may be. */
const PLAIN_ASCII = /^[ !#-.0-[\]-~]$/;

/** Runs of characters of which it is known what they look like in a file. */
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

/** Whether any character could be written as `\uXXXX`. Control characters always are, and are never looked for. */
function hasEscapes(text: string): boolean {
  for (let at = text.indexOf('\\u'); at !== -1; at = text.indexOf('\\u', at + 2)) {
    const isControl = text.startsWith('00', at + 2) && (text[at + 4] === '0' || text[at + 4] === '1');
    if (!isControl) return true;
  }
  return false;
}
