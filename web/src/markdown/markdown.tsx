import type { Token } from 'marked';
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { memo } from '../ui/memo.ts';
import { lexText } from './lexer.ts';
import { block } from './nodes.tsx';

/**
 * What a model or a person wrote, as nodes. The lexer only reads; every token becomes an element of the list below or
 * the text it was, so nothing that was said can become markup (I-70). There is no way from here to `innerHTML`.
 */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const tokens = useMemo(() => lexText(text), [text]);
  return (
    <div class="markdown">
      {tokens.map((token, i) => (
        // By place: while an answer grows only its last block changes.
        <Block key={i} raw={token.raw} token={token} />
      ))}
    </div>
  );
}

const Block = memo(
  ({ token }: { readonly token: Token; readonly raw: string }): JSX.Element => <>{block(token)}</>,
  (a, b) => a.raw === b.raw && a.token.type === b.token.type,
);
