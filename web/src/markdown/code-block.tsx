import { type ComponentChildren, h, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../ui/copy-button.tsx';
import { colorCode } from './coloring.ts';
import type { Colored } from './highlight.ts';

export interface CodeBlockProps {
  readonly code: string;
  readonly lang: string;
}

const MAX_COLORED_CHARS = 50_000;
const SETTLED_MS = 120;

/** The text is there at once; colors follow. */
export function CodeBlock({ code, lang }: CodeBlockProps): JSX.Element {
  const [colored, setColored] = useState<{ readonly of: string; readonly nodes: ComponentChildren }>();
  const language = (/^[\w+#.-]{1,24}/.exec(lang)?.[0] ?? '').toLowerCase();
  useEffect(() => {
    if (language === '' || code.length > MAX_COLORED_CHARS) return undefined;
    const gone = new AbortController();
    const onColored = (found: Colored): void => setColored({ of: code, nodes: drawLines(found) });
    // Not for every word of an answer that is still coming.
    const timer = setTimeout(() => colorCode({ code, language, signal: gone.signal, onColored }), SETTLED_MS);
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [code, language]);
  return (
    <figure class="code">
      <figcaption>
        <span>{language}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{colored?.of === code ? colored.nodes : code}</code>
      </pre>
    </figure>
  );
}

/** A browser needs the square of how many spans flow together, so they are drawn as blocks of some lines each. */
const MAX_TOGETHER = 200;

function drawLines(colored: Colored): ComponentChildren {
  if (typeof colored === 'string' || colored.inside.length <= MAX_TOGETHER) return draw(colored);
  const blocks: Colored[][] = [[]];
  for (const part of colored.inside) {
    const end = typeof part === 'string' ? part.lastIndexOf('\n') + 1 : 0;
    const isFull = (blocks.at(-1)?.length ?? 0) >= MAX_TOGETHER;
    if (typeof part !== 'string' || !isFull || end === 0) blocks.at(-1)?.push(part);
    else {
      blocks.at(-1)?.push(part.slice(0, end));
      blocks.push([part.slice(end)]);
    }
  }
  return blocks.map((block) => h('span', { class: 'lines' }, block.map(draw)));
}

/** Colors as nodes (I-70): text stays text, and a class is a plain word. */
export function draw(colored: Colored): ComponentChildren {
  if (typeof colored === 'string') return colored;
  const inside = colored.inside.map(draw);
  return /^[a-z][\w-]*$/.test(colored.name) ? h('span', { class: `hl-${colored.name}` }, inside) : inside;
}
