import type { Token, Tokens } from 'marked';
import type { ComponentChildren, JSX } from 'preact';
import { CodeBlock } from './code-block.tsx';
import { safeLink } from './safe-link.ts';

function blocks(tokens: readonly Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map(block);
}

/** Renders a block; a token without an element becomes the text it was. */
export function block(token: Token): ComponentChildren {
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
    case 'raw':
      return <p class="raw far">{token.raw}</p>;
    default:
      // Raw HTML is shown as text.
      return <p class="raw">{token.raw}</p>;
  }
}

/** All headings have one level for screen readers, because message text can start at any level. */
function heading({ depth, tokens, raw }: Tokens.Heading): JSX.Element {
  return <h2 class={`depth-${Math.min(depth, 3)}`}>{inlines(tokens, raw)}</h2>;
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
  // `dir` places the list markers on the side where the text starts.
  return ordered ? (
    <ol dir="auto" start={start === '' ? 1 : Number(start)}>
      {rows}
    </ol>
  ) : (
    <ul dir="auto">{rows}</ul>
  );
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
  return tokens === undefined ? otherwise : joinTexts(tokens.map(inline));
}

/** Many small text nodes are slower to render than one long one. */
function joinTexts(nodes: readonly ComponentChildren[]): ComponentChildren[] {
  const joined: ComponentChildren[] = [];
  for (const node of nodes) {
    const last = joined.at(-1);
    if (typeof node === 'string' && typeof last === 'string') joined[joined.length - 1] = last + node;
    else joined.push(node);
  }
  return joined;
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
      // Images are not loaded, because that would send requests to other sites; their Markdown is shown. HTML is text.
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

/** The source text with common HTML entities decoded. It always becomes a text node, so it is safe. */
function asWritten({ raw }: Tokens.Text): string {
  return raw.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
