import type { Token, Tokens } from 'marked';
import type { ComponentChildren, JSX } from 'preact';
import { memo } from '../ui/memo.ts';
import { CodeBlock } from './code-block.tsx';
import { lexer, lexText } from './lexer.ts';
import { safeLink } from './safe-link.ts';

/**
 * What a model or a person wrote, as nodes. The lexer only reads; every token becomes an element of the list below or
 * the text it was, so nothing that was said can become markup (I-70). There is no way from here to `innerHTML`.
 */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const lex = lexer.value;
  if (lex === undefined)
    return (
      <div class="markdown">
        <p class="raw">{text}</p>
      </div>
    );
  return (
    <div class="markdown">
      {lexText(lex, text).map((token, i) => (
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

function blocks(tokens: readonly Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map(block);
}

function block(token: Token): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return heading(token as Tokens.Heading);
    case 'paragraph':
      return <p>{inlines(token.tokens, token.raw)}</p>;
    case 'text':
      return token.tokens === undefined ? asWritten(token as Tokens.Text) : inlines(token.tokens, token.raw);
    case 'code':
      return <CodeBlock code={token.text} lang={(token as Tokens.Code).lang ?? ''} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'hr':
      return <hr />;
    default:
      // Raw HTML too: shown, never obeyed.
      return <p class="raw">{token.raw}</p>;
  }
}

function heading({ depth, tokens, raw }: Tokens.Heading): JSX.Element {
  const inside = inlines(tokens, raw);
  // Below those of the page itself.
  if (depth === 1) return <h3>{inside}</h3>;
  if (depth === 2) return <h4>{inside}</h4>;
  return <h5>{inside}</h5>;
}

function list({ ordered, start, items }: Tokens.List): JSX.Element {
  const rows = items.map((item, i) => (
    <li key={i} class={item.task ? 'task' : undefined}>
      {item.task && (
        <input
          type="checkbox"
          checked={item.checked === true}
          disabled
          aria-label={item.checked ? '☑' : '☐'}
        />
      )}
      {item.tokens.map((token) => (token.type === 'checkbox' ? null : block(token)))}
    </li>
  ));
  return ordered ? <ol start={start === '' ? 1 : Number(start)}>{rows}</ol> : <ul>{rows}</ul>;
}

function table({ header, rows, align }: Tokens.Table): JSX.Element {
  const cell = (i: number): 'left' | 'right' | 'center' | undefined => align[i] ?? undefined;
  return (
    <div class="table" tabIndex={0} role="region" aria-label="table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens, text }, i) => (
              <th key={i} data-align={cell(i)}>
                {inlines(tokens, text)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, y) => (
            <tr key={y}>
              {row.map(({ tokens, text }, i) => (
                <td key={i} data-align={cell(i)}>
                  {inlines(tokens, text)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[] | undefined, otherwise: string): ComponentChildren {
  return tokens === undefined ? otherwise : tokens.map(inline);
}

function inline(token: Token): ComponentChildren {
  switch (token.type) {
    case 'text':
      return token.tokens === undefined ? asWritten(token as Tokens.Text) : inlines(token.tokens, token.raw);
    case 'escape':
      return token.text;
    case 'strong':
      return <strong>{inlines(token.tokens, token.raw)}</strong>;
    case 'em':
      return <em>{inlines(token.tokens, token.raw)}</em>;
    case 'del':
      return <del>{inlines(token.tokens, token.raw)}</del>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return link(token as Tokens.Link);
    case 'checkbox':
      return null;
    default:
      // Images of others are requests to others: the text says what was meant. HTML is text.
      return token.raw;
  }
}

function link({ href, tokens, text, raw }: Tokens.Link): ComponentChildren {
  const safe = safeLink(href);
  if (safe === undefined) return raw;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={safe}>
      {inlines(tokens, text)}
    </a>
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  nbsp: '\u00a0',
};

/** As it was written, with the few names for characters that people use; it goes into a text node whatever it says. */
function asWritten({ raw }: Tokens.Text): string {
  return raw.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
