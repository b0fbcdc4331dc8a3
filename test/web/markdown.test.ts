import fc from 'fast-check';
import { type ComponentChild, isValidElement } from 'preact';
import { expect, test } from 'vitest';
import { CodeBlock, draw } from '../../web/src/markdown/code-block.tsx';
import { highlight } from '../../web/src/markdown/highlight.ts';
import { lexText } from '../../web/src/markdown/lexer.ts';
import { block } from '../../web/src/markdown/nodes.tsx';
import { safeLink } from '../../web/src/markdown/safe-link.ts';
import { splitBlocks } from '../../web/src/markdown/split-blocks.ts';
import { cpuTimer } from '../support/engine/time-spent.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

interface Shown {
  readonly tags: readonly string[];
  readonly props: readonly (readonly [tag: string, name: string, value: unknown])[];
  readonly text: string;
}

/** Everything a tree of nodes would put into the page. */
function shown(nodes: unknown): Shown {
  const tags: string[] = [];
  const props: [string, string, unknown][] = [];
  let text = '';
  const walk = (node: ComponentChild | ComponentChild[]): void => {
    if (Array.isArray(node)) for (const child of node) walk(child);
    else if (typeof node === 'string' || typeof node === 'number') text += node;
    else if (isValidElement(node)) {
      const { type } = node;
      const { children, ...rest } = node.props as Record<string, unknown>;
      if (type === CodeBlock) text += String(rest['code']);
      else if (typeof type === 'string') {
        tags.push(type);
        for (const [name, value] of Object.entries(rest)) props.push([type, name, value]);
      }
      walk(children as ComponentChild);
    }
  };
  walk(nodes as ComponentChild);
  return { tags, props, text };
}

const render = (text: string): Shown => shown(lexText(text, Number.POSITIVE_INFINITY).map(block));

const TAGS = new Set(
  'p h2 ul ol li blockquote hr div table thead tbody tr th td strong em del code br a input'.split(' '),
);
const PROPS = new Set(
  'class key href target rel title dir start type checked disabled aria-label role tabIndex data-align'.split(
    ' ',
  ),
);

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '</script><svg onload=alert(1)>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](vbscript:x)',
  '[x](//evil.example/a)',
  '[x](https://good.example "onmouseover=alert(1)")',
  '![x](javascript:alert(1))',
  '![x](https://tracker.example/p.gif)',
  '<javascript:alert(1)>',
  '<https://a.example/">',
  '[a]: javascript:alert(1)\n\n[a]',
  '`<b>`',
  '| <i>a | b |\n|---|---|\n| <b onclick=x> | c |',
  '<!-- x --><iframe src="https://evil.example">',
  '- [ ] <style>*{}</style>',
];

test.each(HOSTILE)('I-70 T79 %j becomes allowed nodes and text only', (text) => {
  const { tags, props, text: said } = render(text);
  for (const tag of tags) expect(TAGS).toContain(tag);
  for (const [tag, name, value] of props) {
    expect(PROPS, `${tag} ${name}`).toContain(name);
    if (name === 'href') expect(String(value)).toMatch(/^(?:https?|mailto):/);
  }
  if (text.includes('<script>')) expect(said).toContain('alert(1)');
});

test('I-70 so does any mixture of them', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...HOSTILE,
      '\n',
      '\n\n',
      '> ',
      '- ',
      '1. ',
      '```',
      '**',
      '*',
      '|',
      '    ',
      '&lt;',
      '[',
      '](',
      ')',
    ),
    fc.string({ maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const { tags, props } = render(pieces.join(''));
      expect(tags.filter((tag) => !TAGS.has(tag))).toEqual([]);
      expect(props.filter(([, name]) => !PROPS.has(name))).toEqual([]);
      for (const [, name, value] of props)
        if (name === 'href') expect(safeLink(String(value)), String(value)).toBe(value);
    }),
    { numRuns: Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 300) },
  );
});

test.each([
  ['lists', '- '.repeat(800)],
  ['quotes', '> '.repeat(1500)],
  ['words', `${'*a '.repeat(400)}${'a* '.repeat(400)}`],
  ['a cell', `| a |\n|---|\n| ${'*a '.repeat(400)}${'a* '.repeat(400)} |`],
])('I-70 %s in each other deeper than a page can be drawn are the text they are', (_, text) => {
  expect(render(`${text}x`)).toMatchObject({ tags: [], text: `${text}x` });
});

test('a paragraph of thousands of stars does not block the page', () => {
  const stars = '**a *b'.repeat(20_000);
  const spent = cpuTimer();
  expect(render(stars)).toMatchObject({ tags: ['p'], text: stars });
  expect(spent()).toBeLessThan(2000);
});

test('a long text is read in short pieces, none of it is left out, and code and tables stay whole', () => {
  const piece = fc.constantFrom(
    '- a\n',
    'words and more words\n',
    '\n',
    '```js\nlet a;\n',
    '```\n',
    '| a |\n',
    '|---|\n',
    '  b\n',
  );
  fc.assert(
    fc.property(fc.array(piece, { minLength: 500, maxLength: 900 }), (pieces) => {
      const text = pieces.join('');
      const blocks = splitBlocks(text);
      expect(blocks.map(({ raw }) => raw).join('')).toBe(text);
      for (const { kind, raw } of blocks)
        if (kind === 'markdown' && !raw.startsWith('|')) expect(raw.length).toBeLessThanOrEqual(5000);
    }),
    { numRuns: 30 },
  );
  const code = 'let a = 1;\n'.repeat(1000);
  const rows = `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(1000)}`;
  const kinds = lexText(
    `# Long\n\n\`\`\`js\n${code}\`\`\`\n\n${rows}\nThe end.`,
    Number.POSITIVE_INFINITY,
  ).map(({ type }) => type);
  expect(kinds.filter((type) => type !== 'space')).toEqual(['heading', 'code', 'table', 'paragraph']);
});

test('what people write in answers has its shape', () => {
  const { tags, text } = render(
    '# A\n\nb **c** `d` <e>\n\n- x\n- y\n\n| h |\n|--:|\n| 1 |\n\n```ts\nlet f = 1 < 2;\n```',
  );
  expect(tags).toEqual([
    'h2',
    'p',
    'strong',
    'code',
    'ul',
    'li',
    'li',
    'div',
    'table',
    'thead',
    'tr',
    'th',
    'tbody',
    'tr',
    'td',
  ]);
  expect(text).toContain('<e>');
  expect(text).toContain('let f = 1 < 2;');
});

test('colored code has the same letters as plain code', () => {
  const code = ['const a = `<b>$', '{1}</b>`; // "x" & </script>\n'].join('');
  const nodes = draw(highlight(code, 'ts') ?? '');
  expect(shown(nodes).text).toBe(code);
  expect(new Set(shown(nodes).tags)).toEqual(new Set(['span']));
  expect(highlight(code, 'no-such-language')).toBeUndefined();
});

test('neighboring texts are one node, because a browser needs long for thousands of them', () => {
  const children = (text: string): unknown => {
    const [paragraph] = lexText(text, Number.POSITIVE_INFINITY).map(block);
    return isValidElement(paragraph) ? (paragraph.props as { children?: unknown }).children : paragraph;
  };
  expect(children('\\* a &amp; b <i>c</i> \\\\')).toEqual(['* a & b <i>c</i> \\']);
  expect(children('\\\\'.repeat(1000))).toEqual(['\\'.repeat(1000)]);
});
