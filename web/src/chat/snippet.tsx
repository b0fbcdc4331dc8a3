import type { JSX } from 'preact';

/** A piece of what was said, with what was looked for marked. */
export function Snippet({ text, wanted }: { readonly text: string; readonly wanted: string }): JSX.Element {
  const words = wanted.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return <span class="snippet">{text}</span>;
  const pattern = new RegExp(
    `(${words.map((word) => RegExp.escape?.(word) ?? escaped(word)).join('|')})`,
    'gi',
  );
  return (
    <span class="snippet">
      {text.split(pattern).map((part, i) => (i % 2 === 1 ? <mark key={i}>{part}</mark> : part))}
    </span>
  );
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
