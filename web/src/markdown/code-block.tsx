import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CopyButton } from '../ui/copy-button.tsx';

export interface CodeBlockProps {
  readonly code: string;
  readonly lang: string;
}

/** Colours come when they are ready; the text is there at once. */
export function CodeBlock({ code, lang }: CodeBlockProps): JSX.Element {
  const [coloured, setColoured] = useState<{ readonly of: string; readonly nodes: ComponentChildren }>();
  const name = (/^[\w+#.-]{1,24}/.exec(lang)?.[0] ?? '').toLowerCase();
  useEffect(() => {
    let isCurrent = true;
    if (name === '' || code.length > MAX_COLOURED) return undefined;
    // Not for every word of an answer that is still coming.
    const timer = setTimeout(() => {
      void import('./highlight.ts').then(({ highlight }) => {
        const nodes = highlight(code, name);
        if (isCurrent && nodes !== undefined) setColoured({ of: code, nodes });
      });
    }, SETTLED_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [code, name]);
  return (
    <figure class="code">
      <figcaption>
        <span>{name}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{coloured?.of === code ? coloured.nodes : code}</code>
      </pre>
    </figure>
  );
}

const MAX_COLOURED = 50_000;
const SETTLED_MS = 120;
