import type { Token } from 'marked';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { memo } from '../ui/memo.ts';
import { lexText } from './lexer.ts';
import { block } from './nodes.tsx';

/**
 * Renders Markdown of a model or user as nodes. Only the lexer of `marked` is used; each token becomes one of a fixed
 * list of elements, or plain text, so message text cannot become markup (I-70). `innerHTML` is never used.
 */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const tokens = useMemo(() => lexText(text), [text]);
  return (
    <div class="markdown">
      {tokens.map((token, i) => (
        // Keyed by index, because only the last block changes while an answer streams.
        <Block key={i} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

const Block = memo(
  ({ token }: { readonly token: Token; readonly raw: string }): JSX.Element => <>{block(token)}</>,
  (a, b) => a.raw === b.raw && a.token.type === b.token.type,
);
