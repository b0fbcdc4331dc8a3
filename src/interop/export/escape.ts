/** Invisible characters that can change how text is displayed: controls except newline and tab, and bidi overrides. */
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function showInvisible(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .toWellFormed()
    .replace(INVISIBLE, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes untrusted text for HTML, also inside a quoted attribute. */
export function escapeHtml(text: string): string {
  return showInvisible(text).replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c);
}

/**
 * Escapes untrusted text for Markdown. Emphasis, lists and code stay; HTML, links, images, headings and rules become
 * plain text, so that nothing is loaded, run or mistaken for a part of the page. Closed code blocks get a new fence;
 * nothing inside them is escaped.
 */
export function escapeMarkdown(text: string): string {
  const out: string[] = [];
  const lines = showInvisible(text).split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    const [, fence = '', info = ''] = /^(`{3,}|~{3,})([^`~]*)$/.exec(line) ?? [];
    const end = fence === '' ? -1 : closingFence(lines, at + 1, fence);
    if (end === -1) out.push(escapeLine(line));
    else {
      out.push('', codeBlock(lines.slice(at + 1, end).join('\n'), info.trim()), '');
      at = end;
    }
  }
  return out.join('\n');
}

function closingFence(lines: readonly string[], from: number, fence: string): number {
  return lines.findIndex((line, at) => at >= from && line.trimEnd().startsWith(fence) && isFence(line));
}

function isFence(line: string): boolean {
  return /^(?:`+|~+)\s*$/.test(line);
}

/** An id or a time as a code span, because escaping each character would make it hard to read and copy. */
export function codeSpan(text: string): string {
  return /^[\w.:/@+ -]+$/.test(text) ? `\`${text}\`` : escapeInline(text);
}

/** One line of plain text without active Markdown. */
export function escapeInline(text: string): string {
  return showInvisible(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_{}[\]()#+.!|~-]/g, '\\$&')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;');
}

function escapeLine(line: string): string {
  return (
    line
      .replace(/&/g, '&amp;')
      .replace(/</g, '&lt;')
      .replace(/\\/g, '\\\\')
      .replace(/[[\]]/g, '\\$&')
      // Headings, rules, underlines of headings, and fences that are not closed.
      .replace(/^(\s*)(#|={1,}\s*$|(?:-\s*)+$|(?:_\s*){3,}$|(?:\*\s*){3,}$|`{3,}|~{3,})/, '$1\\$2')
      // Four spaces would start a code block, in which the escapes would be visible.
      .replace(/^[ \t]{4,}/, '   ')
  );
}

/** A code block with a fence that the text cannot close. The info string is a language or empty. */
export function codeBlock(text: string, language = ''): string {
  const shown = showInvisible(text);
  const longest = Math.max(2, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${/^[A-Za-z0-9+#-]{1,20}$/.test(language) ? language : ''}\n${shown}\n${fence}`;
}
