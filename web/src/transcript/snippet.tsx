import type { ComponentChildren, JSX } from 'preact';

export interface SnippetProps {
  readonly text: string;
  /** Start and end of each match. */
  readonly marks: readonly (readonly [number, number])[];
}

/** A part of a message with the matches marked. */
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
