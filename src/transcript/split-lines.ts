/** A line as stored in the file, without its LF. */
export interface RawLine {
  readonly offset: number;
  /** Empty for a line over the limit. */
  readonly bytes: Buffer;
  readonly length: number;
  /** False for a last line without LF. */
  readonly terminated: boolean;
}

export interface LineSplitter {
  push(chunk: Uint8Array): void;
  end(): void;
}

const LF = 10;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits bytes at LF only: U+2028, NEL and CR inside a line are content. Memory is limited by the longest allowed
 * line, not by the file; a longer line is skipped and reported with its length. `onTooLong` is called as soon as a
 * line exceeds the limit; a caller that does not want the rest throws from it.
 */
export function createLineSplitter(
  maxLineBytes: number,
  onLine: (line: RawLine) => void,
  { onTooLong }: { readonly onTooLong?: (offset: number) => void } = {},
): LineSplitter {
  let offset = 0;
  let pieces: Buffer[] = [];
  let length = 0;

  const keep = (piece: Buffer): void => {
    length += piece.length;
    if (length <= maxLineBytes) pieces.push(piece);
    else {
      pieces = [];
      onTooLong?.(offset);
    }
  };
  const emit = (terminated: boolean): void => {
    const [only] = pieces;
    let bytes = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    if (offset === 0 && bytes.subarray(0, 3).equals(BOM)) bytes = bytes.subarray(3);
    onLine({ offset, bytes, length, terminated });
    offset += length + (terminated ? 1 : 0);
    pieces = [];
    length = 0;
  };

  return {
    push(chunk) {
      const buffer = Buffer.isBuffer(chunk)
        ? chunk
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      let start = 0;
      for (let lf = buffer.indexOf(LF); lf !== -1; lf = buffer.indexOf(LF, start)) {
        if (length === 0 && offset > 0 && lf - start <= maxLineBytes) {
          // A whole line in one chunk: nearly every line, so it allocates nothing except the result.
          onLine({ offset, bytes: buffer.subarray(start, lf), length: lf - start, terminated: true });
          offset += lf - start + 1;
        } else {
          keep(buffer.subarray(start, lf));
          emit(true);
        }
        start = lf + 1;
      }
      // Copy the rest: a stream may reuse its chunk, and an unfinished line must not keep the chunk in memory.
      if (start === buffer.length) return;
      const rest = buffer.subarray(start);
      keep(length + rest.length <= maxLineBytes ? Buffer.from(rest) : rest);
    },
    end() {
      if (length > 0) emit(false);
    },
  };
}
