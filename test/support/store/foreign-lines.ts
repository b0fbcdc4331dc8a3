import { appendFileSync } from 'node:fs';

/** What another tool may append to one of our transcripts. */
export const FOREIGN_KINDS = ['message', 'several', 'unknown', 'blank'] as const;
export type ForeignKind = (typeof FOREIGN_KINDS)[number];

let number = 0;

/** Appends one line as another tool would, and answers with the texts it says. */
export function appendForeign(path: string, kind: ForeignKind, parentId: string | null, size = 0): string[] {
  const n = ++number;
  const text = `foreign ${n} ${'f'.repeat(size)}`;
  const base = {
    type: 'message',
    id: `pi${String(n).padStart(6, '0')}`,
    parentId,
    timestamp: '2025-01-01T00:00:00.000Z',
  };
  const result = { type: 'tool_result', tool_use_id: `call-${n}`, content: `result ${n}` };
  const lines: Readonly<Record<ForeignKind, string>> = {
    message: JSON.stringify({ ...base, message: { role: 'user', content: text } }),
    // Anthropic-style: a result and a text in one message.
    several: JSON.stringify({
      ...base,
      message: { role: 'user', content: [result, { type: 'text', text }] },
    }),
    unknown: '{"what":"is this"}',
    blank: '',
  };
  appendFileSync(path, `${lines[kind]}\n`);
  const said: Readonly<Record<ForeignKind, string[]>> = {
    message: [text],
    several: [text],
    unknown: [],
    blank: [],
  };
  return said[kind];
}
