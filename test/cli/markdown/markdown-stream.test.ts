import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MarkdownStream } from '../../../src/cli/markdown/markdown-stream.ts';
import { widthOf } from '../../../src/cli/terminal/width.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const DOCUMENT = `# A heading with **bold** and \`code\`

Text with *italics*, ***both***, ~~gone~~, a [link](https://example.com/a) and https://example.com/x_y(z).
snake_case_name stays, 5 * 3 = 15 * 1, \\*no emphasis\\*, an array[0], **unclosed and \`open

- one item that is quite long so that it must wrap around the end of the line, whatever its width is
  - nested \`x\`
1. first
- [x] done
- [ ] open

> quoted text which is long enough to be wrapped, because it is long enough, as was said before
> and more

\`\`\`ts
// comment
const x = "hello"; /* block
still */ return 42;
\`\`\`

| Name | Count | What |
|------|------:|:----:|
| apple \\| pear | 12 | a red fruit that is eaten by many people in the world every day |
| 你好 | 3 | 世界 👩‍👩‍👧 emoji 🇩🇪 é |

---
中文的文本没有空格，所以一行可以在任何字符之后断开，除了标点符号之前。这是一个很长的句子（用来测试换行）。
averyveryverylongwordthatnoterminalinthistestcanshowononelinebecauseithasmorecharactersthananyofthemhascolumns
`;

interface Look {
  readonly columns?: number;
  readonly links?: boolean;
  readonly colors?: boolean;
}

function stream({ columns = 80, links = false, colors = false }: Look = {}): MarkdownStream {
  return new MarkdownStream({ columns: () => columns, links, colors });
}

function render(text: string, look: Look = {}): string {
  const markdown = stream(look);
  return markdown.take(text) + markdown.end();
}

test('the backticks that code has without colors count when a line wraps', () => {
  for (let columns = 12; columns <= 60; columns++)
    for (const line of render('Use bold words and `code` in a line that is `long` enough.', {
      columns,
    }).split('\n'))
      expect(widthOf(line), `${columns}: ${line}`).toBeLessThanOrEqual(columns);
});

describe.each([40, 80, 120])('at %i columns', (columns) => {
  const whole = render(DOCUMENT, { columns });

  test('the result is the same wherever the text is cut', () => {
    for (let at = 0; at <= DOCUMENT.length; at++) {
      const markdown = stream({ columns });
      const shown = markdown.take(DOCUMENT.slice(0, at)) + markdown.take(DOCUMENT.slice(at)) + markdown.end();
      expect(shown, `cut at ${at}`).toBe(whole);
    }
    const markdown = stream({ columns });
    const units = DOCUMENT.split('');
    expect(units.map((unit) => markdown.take(unit)).join('') + markdown.end()).toBe(whole);
  });

  test('only lines of code are wider than the terminal', () => {
    for (const line of whole.split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
  });

  test('no word is lost', () => {
    const plain = (text: string): string => text.replace(/[\s│─┼•☑☐]/g, '');
    for (const word of [
      'heading',
      'snake_case_name',
      '5*3=15*1',
      '*noemphasis*',
      '**unclosedand`open',
      'array[0]',
    ])
      expect(plain(whole)).toContain(word);
    for (const word of ['apple|pear', '你好', '👩‍👩‍👧', 'stillt*/return42;', '测试换行'])
      expect(plain(whole)).toContain(word.replace('stillt', 'still'));
  });
});

test('any mixture of marks, wide characters and controls looks the same however it arrives', () => {
  const piece = fc.constantFrom(
    ...[
      '#',
      '# ',
      '`',
      '```',
      '~~~',
      '\n',
      ' ',
      'word',
      '*',
      '**',
      '_',
      '[',
      '](',
      ')',
      '|',
      '- ',
      '> ',
      '\\',
      '1. ',
    ],
    ...[
      'https://',
      'a.b/c',
      '---',
      '|-|\n',
      '你',
      '，',
      '👩',
      '\u200d',
      '👧',
      'e',
      '\u0301',
      '\u001b[31m',
      '\u202e',
      '\r\n',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.constantFrom(20, 40), (pieces, columns) => {
      const markdown = stream({ columns });
      const streamed = pieces.map((text) => markdown.take(text)).join('') + markdown.end();
      expect(streamed).toBe(render(pieces.join(''), { columns }));
      expect(streamed).not.toMatch(/[\u001b\u202e\r]/);
    }),
    { numRuns: 500 },
  );
});

test('words are shown as they arrive, not at the end of their line', () => {
  const markdown = stream();
  expect(markdown.take('one two **three')).toBe('one two');
  expect(markdown.take(' four')).toBe('');
  expect(markdown.take('** five')).toBe(' three four');
  expect(markdown.take(' ')).toBe('');
  expect(markdown.take('x')).toBe(' five');
  expect(markdown.end()).toBe(' x\n');
});

test('a mark that is never closed holds back little', () => {
  const markdown = stream();
  const shown = markdown.take(`**open ${'word '.repeat(1000)}`);
  expect(shown.length).toBeGreaterThan(4000);
  expect(shown).toContain('**open');
});

describe('colors', () => {
  beforeEach(() => vi.stubEnv('FORCE_COLOR', '1'));
  afterEach(() => vi.unstubAllEnvs());

  test('headings, emphasis and code have formats, and code its keywords', () => {
    const shown = render('**b** *i* `c`\n```js\nconst a = "s"; // c\n```\n', { colors: true });
    expect(shown).toContain('\u001b[1mb\u001b[22m \u001b[3mi\u001b[23m \u001b[36mc\u001b[39m');
    expect(shown).toContain('\u001b[35mconst\u001b[39m a = \u001b[32m"s"\u001b[39m; ');
  });

  test('a light terminal gets colors that can be read on white', () => {
    vi.stubEnv('COLORFGBG', '0;15');
    expect(render('`c`', { colors: true })).toContain('\u001b[34mc\u001b[39m');
  });

  test('without colors nothing is sent but text, and code keeps its backticks', () => {
    vi.stubEnv('FORCE_COLOR', undefined);
    vi.stubEnv('NO_COLOR', '1');
    expect(render('**b** `c`')).toBe('b `c`\n');
  });
});

describe('links', () => {
  test('a terminal that supports links gets them, others get the address', () => {
    expect(render('[here](https://a.example/b)', { links: true })).toBe(
      '\u001b]8;;https://a.example/b\u001b\\here\u001b]8;;\u001b\\\n',
    );
    expect(render('[here](https://a.example/b)')).toBe('here (https://a.example/b)\n');
    expect(render('https://a.example/b.')).toBe('https://a.example/b.\n');
  });

  test('no address but http, https and mailto becomes a link, and none hides behind another', () => {
    expect(render('[x](javascript:alert(1))', { links: true })).toBe('x (javascript:alert(1))\n');
    expect(render('[https://bank.example](https://evil.example)', { links: true })).toContain(
      '(https://evil.example)',
    );
  });
});

test('a table too wide for the terminal is a list', () => {
  const table =
    '| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n| one | two | three | four | five | sixteen characters |\n';
  const shown = render(table, { columns: 30 });
  expect(shown).toContain('a: one\n');
  expect(shown).toContain('f: sixteen characters\n');
});
