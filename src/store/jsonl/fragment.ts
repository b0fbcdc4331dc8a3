import { decodeLine } from '../../transcript/line.ts';

/**
 * A last line without its LF, written by somebody else. It may be a line that is just being written, and then it
 * is not ours to cut:
 * - `whole`: a record that lacks only its LF;
 * - `half`: what a record may begin with;
 * - `garbage`: what no record begins with.
 */
export type FragmentKind = 'whole' | 'half' | 'garbage';

const utf8 = new TextDecoder('utf-8', { fatal: true });
const OPENING_BRACE = 0x7b;
const SPACE = 0x20;

export function fragmentKind(bytes: Buffer): FragmentKind {
  if (decodeLine(bytes).kind === 'record') return 'whole';
  const first = bytes.find((byte) => !isBlank(byte));
  if (first !== undefined && first !== OPENING_BRACE) return 'garbage';
  // JSON escapes control characters, so a raw one was never part of a record: NULs of a power cut, binary data.
  if (bytes.some((byte) => byte < SPACE && !isBlank(byte))) return 'garbage';
  return isUtf8SoFar(bytes) ? 'half' : 'garbage';
}

function isBlank(byte: number): boolean {
  return byte === SPACE || byte === 0x09 || byte === 0x0d;
}

/** The last character may be cut in the middle. */
function isUtf8SoFar(bytes: Buffer): boolean {
  try {
    utf8.decode(bytes, { stream: true });
    return true;
  } catch {
    // The decoder is fatal on purpose: throwing is its answer for bytes that are not UTF-8.
    return false;
  } finally {
    // Drops what a cut character left in the decoder; ending it in the middle throws.
    try {
      utf8.decode();
    } catch {
      // Expected after a cut character.
    }
  }
}
