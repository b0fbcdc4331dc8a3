/** A part of a Markdown text that can be read by itself. */
export interface TextBlock {
  /** `line`: one paragraph, too long to be looked at for anything else. */
  readonly kind: 'markdown' | 'line' | 'code';
  readonly raw: string;
  /** Of `code` only. */
  readonly lang: string;
  readonly code: string;
}

const MAX_CHARS = 5000;
/** Rows that are cut off from their head would be no table any more, and reading one takes no longer per row. */
const MAX_TABLE_CHARS = 50_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/;

/**
 * Splits a text so that no part is long: at fences of code, then at blank lines, then between lines. A text that is short
 * anyway stays whole. A list that is cut becomes two lists.
 */
export function splitBlocks(text: string): TextBlock[] {
  if (text.length <= MAX_CHARS) return [markdown(text)];
  const blocks: TextBlock[] = [];
  let gathered: string[] = [];
  const flush = (): void => {
    if (gathered.length > 0) blocks.push(...splitMarkdown(gathered));
    gathered = [];
  };
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const [, fence, lang = ''] = FENCE.exec(line.trimEnd()) ?? [];
    if (fence === undefined || (fence.startsWith('`') && lang.includes('`'))) {
      gathered.push(line);
      continue;
    }
    flush();
    let end = i + 1;
    while (end < lines.length && !closes(lines[end] ?? '', fence)) end++;
    const code = lines
      .slice(i + 1, end)
      .join('')
      .replace(/\n$/, '');
    blocks.push({ kind: 'code', raw: lines.slice(i, end + 1).join(''), lang: lang.trim(), code });
    i = end;
  }
  flush();
  return blocks;
}

function closes(line: string, fence: string): boolean {
  const mark = line.trim();
  return mark.length >= fence.length && mark === (fence[0] ?? '').repeat(mark.length);
}

function splitMarkdown(lines: readonly string[]): TextBlock[] {
  const parts: string[][] = [];
  for (const [i, line] of lines.entries()) {
    const isBegin = i === 0 || (lines[i - 1]?.trim() === '' && /^\S/.test(line));
    if (isBegin) parts.push([line]);
    else parts.at(-1)?.push(line);
  }
  // Short ones stay together: what belongs to one list often does.
  return joinShort(parts)
    .flatMap((part) => (isTable(part) ? [part] : joinShort(part.map((line) => [line]))))
    .map(asBlock);
}

/** As many together as are short enough. */
function joinShort(parts: readonly string[][]): string[][] {
  const joined: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    const more = part.reduce((sum, line) => sum + line.length, 0);
    if (size + more > MAX_CHARS) {
      joined.push([]);
      size = 0;
    }
    for (const line of part) joined.at(-1)?.push(line);
    size += more;
  }
  return joined;
}

function isTable(block: readonly string[]): boolean {
  const isRuled = /^[\s|:-]+$/.test(block[1] ?? '') && block[1]?.includes('-') === true;
  const size = block.reduce((sum, line) => sum + line.length, 0);
  return (
    isRuled && size <= MAX_TABLE_CHARS && block.every((line) => line.includes('|') || line.trim() === '')
  );
}

function asBlock(lines: readonly string[]): TextBlock {
  const raw = lines.join('');
  return lines.length === 1 && raw.length > MAX_CHARS ? { ...markdown(raw), kind: 'line' } : markdown(raw);
}

function markdown(raw: string): TextBlock {
  return { kind: 'markdown', raw, lang: '', code: '' };
}
