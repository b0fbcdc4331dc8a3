import type { ComponentChildren, JSX } from 'preact';

export interface SnippetProps {
  readonly text: string;
  /** Begin and end of what was found. */
  readonly marks: readonly (readonly [number, number])[];
}

/** A piece of what was said, with what was looked for marked. */
export function Snippet({ text, marks }: SnippetProps): JSX.Element {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const [begin, end] of marks) {
    if (begin < at || end <= begin) continue;
    parts.push(text.slice(at, begin), <mark key={begin}>{text.slice(begin, end)}</mark>);
    at = end;
  }
  return (
    <span class="snippet">
      {parts}
      {text.slice(at)}
    </span>
  );
}
