// Longer than most files, because it is one table: for every rule of every provider, faults that break it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Violation,
  validateAiSdkMessages,
  validateAnthropicMessages,
  validateBedrock,
  validateGemini,
  validateLocalTemplate,
  validateMistral,
  validateOpenAiChat,
  validateOpenAiResponses,
} from '../../testing/index.ts';
import { exceedsJsonBytes } from '../../testing/providers/json.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

type Validate = (messages: readonly unknown[]) => Violation[];
type Change = (messages: unknown[]) => void;
/**
 * `rule: what is refused`, and the fault to plant, with the rules that cannot but break along with it;
 * or `takes: what is legal`, and a change that must not be reported.
 */
type Plants = Record<string, Change | readonly [Change, ...string[]]>;

const keysOf = (path: string): string[] => path.match(/[^.[\]]+/g) ?? [];

function reach(root: unknown, keys: readonly string[]): unknown {
  return keys.reduce((here, key) => (here as Record<string, unknown>)[key], root);
}

/** Calls back with the object or list that holds `path` (`2.content.0.text`), and the last key. */
const at =
  (path: string, change: (owner: Record<string, unknown>, key: string) => void): Change =>
  (messages) => {
    const keys = keysOf(path);
    const key = keys.pop() ?? '';
    change(reach(messages, keys) as Record<string, unknown>, key);
  };
const put = (path: string, value: unknown): Change =>
  at(path, (owner, key) => {
    owner[key] = value;
  });
const cut = (path: string): Change =>
  at(path, (owner, key) => {
    if (Array.isArray(owner)) owner.splice(Number(key), 1);
    else delete owner[key];
  });
const add = (path: string, ...items: unknown[]): Change =>
  at(path, (owner, key) => {
    if (Array.isArray(owner)) owner.splice(Number(key), 0, ...items);
  });
const swap =
  (a: string, b: string): Change =>
  (messages) => {
    const [first, second] = [reach(messages, keysOf(a)), reach(messages, keysOf(b))];
    all(put(a, second), put(b, first))(messages);
  };
const keep =
  (start: number, end: number): Change =>
  (messages) => {
    messages.splice(0, messages.length, ...messages.slice(start, end));
  };
const all =
  (...changes: Change[]): Change =>
  (messages) => {
    for (const change of changes) change(messages);
  };

function rulesAfter(validate: Validate, valid: readonly unknown[], change: Change): Set<string> {
  const messages = structuredClone([...valid]);
  change(messages);
  return new Set(validate(messages).map((violation) => violation.rule));
}

/** Exactly the planted rule must be reported: a validator that also cries elsewhere is as wrong as a silent one. */
function promises(validate: Validate, valid: readonly unknown[], ...tables: Plants[]): void {
  it('has nothing to say about a valid conversation', () => {
    expect(validate(valid)).toEqual([]);
  });
  it('refuses messages that are no list (shape)', () => {
    const lost = { messages: valid } as unknown as readonly unknown[];
    expect(validate(lost)).toMatchObject([{ rule: 'shape', at: 'messages' }]);
  });
  for (const [row, plant] of tables.flatMap((table) => Object.entries(table))) {
    const [rule = '', promise = ''] = row.split(': ');
    const [change, ...also] = typeof plant === 'function' ? [plant] : plant;
    const expected = rule === 'takes' ? [] : [rule, ...also];
    it(rule === 'takes' ? `takes ${promise}` : `refuses ${promise} (${rule})`, () => {
      expect(rulesAfter(validate, valid, change)).toEqual(new Set(expected));
    });
  }
}

type Draw = (width: number, height: number) => string;
const be = (n: number): string => String.fromCharCode(n >> 8, n & 255);
const le = (n: number): string => String.fromCharCode(n & 255, (n >> 8) & 255);
const base64 = (...bytes: string[]): string => Buffer.from(bytes.join(''), 'latin1').toString('base64');
const webp = (...chunk: string[]): string => base64('RIFF\0\0\0\0WEBP', ...chunk, 'more bytes');

const png: Draw = (w, h) =>
  base64('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0', be(w), '\0\0', be(h), '\b\x02\0\0\0\0');
/** A comment of 100 bytes, a fill byte and a restart marker stand before the frame header. */
const beforeFrame = `\xff\xfe\0\x66${'x'.repeat(100)}\xff\xff\xd0`;
const jpeg: Draw = (w, h) => base64('\xff\xd8', beforeFrame, '\xff\xc2\0\x11\b', be(h), be(w), '\x03\x01');
const drawings: readonly (readonly [name: string, mediaType: string, draw: Draw])[] = [
  ['PNG', 'image/png', png],
  ['JPEG', 'image/jpeg', jpeg],
  ['GIF', 'image/gif', (w, h) => base64('GIF89a', le(w), le(h), '\0\0\0')],
  ['lossy WebP', 'image/webp', (w, h) => webp('VP8 \0\0\0\0\0\0\0\x9d\x01\x2a', le(w | 0x4000), le(h))],
  [
    'lossless WebP',
    'image/webp',
    (w, h) => webp('VP8L\0\0\0\0\x2f', le((w - 1) | ((h - 1) << 14)), le(((h - 1) << 14) >>> 16)),
  ],
  ['extended WebP', 'image/webp', (w, h) => webp('VP8X\0\0\0\0\0\0\0\0', le(w - 1), '\0', le(h - 1), '\0')],
];

const text = (words: string): unknown => ({ type: 'text', text: words });
const image = (data: string, mediaType = 'image/png'): unknown => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});
const images = (count: number, data: string): unknown[] => Array.from({ length: count }, () => image(data));
const use = (id: string): unknown => ({ type: 'tool_use', id, name: 'read', input: {} });
const answer = (id: string, content: unknown): unknown => ({ type: 'tool_result', tool_use_id: id, content });
const thinking = { type: 'thinking', thinking: 'Two looks.', signature: 'c2ln' };
const redacted = { type: 'redacted_thinking', data: 'b3BhcXVl' };

const anthropic: readonly unknown[] = [
  { role: 'user', content: [text('What is this?'), image(png(640, 480))] },
  { role: 'assistant', content: [thinking, text('I look. '), use('toolu_1'), use('toolu_2')] },
  {
    role: 'user',
    content: [
      answer('toolu_1', ''),
      answer('toolu_2', [text('seen'), image(jpeg(10, 20), 'image/jpeg')]),
      text('Go on.'),
    ],
  },
  { role: 'assistant', content: [redacted, text('A cat.')] },
  { role: 'user', content: 'Sure?' },
  { role: 'assistant', content: 'Yes.' },
];

describe('Anthropic messages', () => {
  const renameUse = (id: string): Change =>
    all(put('1.content.2.id', id), put('2.content.0.tool_use_id', id));
  const picture = (data: string): Change => put('0.content.1', image(data));

  promises(validateAnthropicMessages, anthropic, {
    'takes: thinking between other blocks': add('1.content.2', thinking),
    'takes: an id of 64 characters': renameUse('a'.repeat(64)),
    'takes: a result without content': cut('2.content.0.content'),
    'takes: a result with an empty list': put('2.content.1.content', []),
    'empty-request: a request without messages': keep(0, 0),
    'shape: a message that is no object': put('4', 'Sure?'),
    'shape: a role it does not know': put('4.role', 'system'),
    'shape: content that is neither text nor blocks': put('4.content', 7),
    'shape: a block of an unknown type': put('3.content.1.type', 'toolCall'),
    'shape: a text block without text': put('3.content.1.text', null),
    'shape: a tool call without an id': [cut('1.content.2.id'), 'tool-result-without-use'],
    'shape: a tool call without a name': cut('1.content.2.name'),
    'shape: a result without an id': [cut('2.content.0.tool_use_id'), 'tool-use-without-result'],
    'shape: a result whose is_error is no boolean': put('2.content.1.is_error', 'yes'),
    'shape: a result whose content is an object': put('2.content.0.content', {}),
    'shape: a result inside a result': put('2.content.1.content.0', answer('toolu_1', '')),
    'shape: thinking that is no text': put('1.content.0.thinking', null),
    'shape: redacted thinking without data': put('3.content.0.data', ''),
    'shape: an image without inline data': put('0.content.1.source', { type: 'file', file_id: 'f' }),
    'first-message-not-user: a conversation that starts with the assistant': cut('0'),
    'roles-not-alternating: two user messages in a row': cut('3'),
    'roles-not-alternating: two assistant messages in a row': cut('4'),
    'empty-content: blank content': put('4.content', ' \n'),
    'empty-content: an empty list of blocks': put('3.content', []),
    'empty-text: an empty text block': put('0.content.0.text', ''),
    'empty-text: a text block of only whitespace': put('0.content.0.text', '\t '),
    'empty-text: an empty text block inside a result': put('2.content.1.content.0.text', ''),
    'block-in-wrong-role: thinking by the user': add('0.content.0', thinking),
    'block-in-wrong-role: redacted thinking by the user': add('0.content.0', redacted),
    'block-in-wrong-role: a tool call by the user': add('0.content.0', use('toolu_9')),
    'block-in-wrong-role: an image by the assistant': add('3.content.1', image(png(1, 1))),
    'block-in-wrong-role: a tool result by the assistant': add('3.content.1', answer('toolu_2', 'x')),
    'tool-use-without-result: a tool call without an answer': cut('2.content.0'),
    'tool-use-without-result: a conversation that ends with a tool call': keep(0, 2),
    'tool-use-without-result: a result one turn too late': [
      all(cut('2.content.0'), put('4.content', [answer('toolu_1', 'late')])),
      'tool-result-without-use',
    ],
    'tool-result-without-use: a result nobody asked for': cut('1.content.2'),
    'duplicate-tool-result: two results for one call': add('2.content.1', answer('toolu_1', 'again')),
    'tool-result-after-content: a result after text': swap('2.content.1', '2.content.2'),
    'tool-result-after-content: a result after an image': add('2.content.1', image(png(1, 1))),
    'duplicate-tool-use-id: one id for two calls of a turn': all(
      put('1.content.3.id', 'toolu_1'),
      cut('2.content.1'),
    ),
    'duplicate-tool-use-id: one id for calls of two turns': all(
      put('3.content.1', use('toolu_1')),
      put('4.content', [answer('toolu_1', 'x')]),
    ),
    'tool-use-id: an id with a character outside its alphabet': renameUse('call|1'),
    'tool-use-id: an empty id': renameUse(''),
    'tool-use-id: an id of 65 characters': renameUse('a'.repeat(65)),
    'tool-name: a tool name with a dot': put('1.content.2.name', 'fs.read'),
    'tool-name: a tool name of 129 characters': put('1.content.2.name', 'a'.repeat(129)),
    'tool-input: a tool call without input': cut('1.content.2.input'),
    'tool-input: a tool call whose input is a list': put('1.content.2.input', []),
    'trailing-whitespace: a last word with a space after it': put('5.content', 'Yes. '),
    'trailing-whitespace: a last text block with a line break after it': put('5.content', [text('Yes.\n')]),
    'ends-with-thinking: a message that ends with thinking': put('3.content', [thinking]),
    'ends-with-thinking: a message that ends with redacted thinking': cut('3.content.1'),
    'thinking-signature: thinking without a signature': cut('1.content.0.signature'),
    'thinking-signature: thinking with an empty signature': put('1.content.0.signature', ''),
    'image-media-type: an image type it cannot read': put('0.content.1.source.media_type', 'image/bmp'),
    'image-media-type-mismatch: an image declared as another type': put(
      '0.content.1.source.media_type',
      'image/webp',
    ),
    'image-base64: image data that is not base64': picture('not base64!!'),
    'image-base64: image data without padding': picture('aGk'),
    'image-base64: image data with line breaks': picture('aGVs\nbG8'),
    'image-unreadable: bytes that are no image': picture('aGVsbG8h'),
    'image-unreadable: an image cut off before its size': picture(png(1, 1).slice(0, 24)),
    'image-unreadable: an image without pixels': picture(png(0, 10)),
    'image-too-many-pixels: an image that is too wide': picture(png(8001, 1)),
    'image-too-many-pixels: a large image inside a result': put('2.content.1.content.1', image(png(1, 8001))),
    'image-too-many-pixels: an image over 2000 px among 21': add(
      '0.content.1',
      ...images(18, png(9, 9)),
      image(png(2001, 9)),
    ),
    'too-many-images: more than 100 images': add('0.content.1', ...images(99, png(9, 9))),
    'image-too-many-bytes: an image of more than 5 MB of base64': picture(
      png(9, 9).padEnd(5 * 1024 * 1024 + 4, 'A'),
    ),
    'request-too-large: a request of more than 32 MB': put('4.content', 'x'.repeat(32_000_000)),
  });

  it.each(drawings)('reads the size of a %s image', (_name, mediaType, draw) => {
    const rules = (w: number, h: number): Set<string> =>
      rulesAfter(validateAnthropicMessages, anthropic, put('0.content.1', image(draw(w, h), mediaType)));
    expect(rules(8000, 8000)).toEqual(new Set());
    expect(rules(8001, 8000)).toEqual(new Set(['image-too-many-pixels']));
    expect(rules(8000, 8001)).toEqual(new Set(['image-too-many-pixels']));
  });

  it('takes a request that uses every limit to the full', () => {
    const rules = (change: Change): Set<string> => rulesAfter(validateAnthropicMessages, anthropic, change);
    expect(rules(add('0.content.1', ...images(18, png(8000, 8000))))).toEqual(new Set());
    expect(rules(add('0.content.1', ...images(98, png(2000, 2000))))).toEqual(new Set());
    expect(rules(picture(png(9, 9).padEnd(5 * 1024 * 1024, 'A')))).toEqual(new Set());
    const rest = JSON.stringify(anthropic).length - 'Sure?'.length;
    expect(rules(put('4.content', 'x'.repeat(32_000_000 - rest)))).toEqual(new Set());
    expect(rules(put('4.content', 'x'.repeat(32_000_001 - rest)))).toEqual(new Set(['request-too-large']));
  });

  it('counts the bytes of a request as JSON.stringify writes them', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const bytes = Buffer.byteLength(JSON.stringify(value));
        expect(exceedsJsonBytes(value, bytes)).toBe(false);
        expect(exceedsJsonBytes(value, bytes - 1)).toBe(true);
      }),
    );
  });

  it('says where the fault is, in the words of the provider', () => {
    const messages = structuredClone([...anthropic]);
    cut('2.content.1')(messages);
    expect(validateAnthropicMessages(messages)).toEqual([
      {
        rule: 'tool-use-without-result',
        at: 'messages[1].content[3]',
        message: '`tool_use` ids were found without `tool_result` blocks immediately after: "toolu_2"',
      },
    ]);
  });
});

const url = `data:image/png;base64,${png(640, 480)}`;
const call = (id: string): unknown => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } });
const tool = (id: string): unknown => ({ role: 'tool', tool_call_id: id, content: 'done' });

/** Nine-character ids, and never a user behind a tool: valid for every server that speaks the chat shape. */
const chat: readonly unknown[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [text('What is this?'), { type: 'image_url', image_url: { url } }] },
  { role: 'assistant', content: null, tool_calls: [call('aaaaaaaa1'), call('aaaaaaaa2')] },
  tool('aaaaaaaa2'),
  tool('aaaaaaaa1'),
  { role: 'assistant', content: 'A cat.' },
  { role: 'user', content: 'Sure?' },
  { role: 'assistant', content: 'I look again.', tool_calls: [call('aaaaaaaa3')] },
  tool('aaaaaaaa3'),
];
const userAtEnd = add('9', { role: 'user', content: 'And now?' });
const renameLast = (id: string): Change => all(put('7.tool_calls.0.id', id), put('8.tool_call_id', id));

const chatShape: Plants = {
  'empty-request: a request without messages': keep(0, 0),
  'shape: a message that is no object': put('0', null),
  'shape: a role it does not know': put('0.role', 'toolResult'),
  'shape: user content that is an object': put('6.content', {}),
  'shape: a system message with an image': put('0.content', [{ type: 'image_url', image_url: { url } }]),
  'shape: a part of an unknown type': put('1.content.0.type', 'image'),
  'shape: an image without a url': put('1.content.1.image_url', url),
  'shape: tool calls that are no list': [put('7.tool_calls', {}), 'tool-result-without-use'],
  'shape: a tool call without an id': [cut('2.tool_calls.0.id'), 'tool-result-without-use'],
  'shape: a tool call without a function': [cut('2.tool_calls.0.function'), 'tool-result-without-use'],
  'shape: a result without an id': [cut('8.tool_call_id'), 'tool-use-without-result'],
  'shape: a result that is no text': put('8.content', { ok: true }),
  'image-url: an image that is not base64': put('1.content.1.image_url.url', 'data:image/png;base64,?'),
  'image-url: an image that is a path': put('1.content.1.image_url.url', '/tmp/a.png'),
  'empty-text: an empty text': put('6.content', ''),
  'empty-text: an empty text part': put('1.content.0.text', ''),
  'empty-text: an empty text beside tool calls': put('2.content', ''),
  'empty-text: an empty result': put('8.content', ''),
  'empty-content: an empty list of parts': put('1.content', []),
  'empty-content: an assistant with neither words nor calls': put('5.content', null),
  'empty-tool-calls: an empty list of tool calls': put('5.tool_calls', []),
  'tool-arguments: arguments that are an object': put('2.tool_calls.0.function.arguments', {}),
  'tool-arguments: arguments cut off in the middle': put('2.tool_calls.0.function.arguments', '{"a":'),
  'tool-arguments: arguments that are a list': put('2.tool_calls.0.function.arguments', '[]'),
  'tool-use-without-result: a tool call without an answer': cut('4'),
  'tool-use-without-result: a conversation that ends with a tool call': cut('8'),
  'tool-use-without-result: anything between a call and its result': [
    add('8', chat[0]),
    'tool-result-without-use',
  ],
  'tool-result-without-use: a result nobody asked for': add('9', tool('aaaaaaaa9')),
  'duplicate-tool-result: two results for one call': add('4', chat[3]),
};

const openAiRules: Plants = {
  'first-message-not-user: a conversation that starts with the assistant': cut('1'),
  'roles-not-alternating: two user messages in a row': add('6', chat[6]),
  'roles-not-alternating: two plain assistant messages in a row': add('5', chat[5]),
  'tool-name: a tool name with a dot': put('7.tool_calls.0.function.name', 'fs.read'),
  'tool-name: a tool name of 65 characters': put('7.tool_calls.0.function.name', 'a'.repeat(65)),
  'duplicate-tool-use-id: one id for two calls': renameLast('aaaaaaaa1'),
};

describe('OpenAI chat messages', () => {
  promises(validateOpenAiChat, chat, chatShape, openAiRules, {
    'takes: a tool id of 40 characters': renameLast('a'.repeat(40)),
    'takes: a remote image': put('1.content.1.image_url.url', 'https://example.com/a.png'),
    'takes: a user who speaks right after a result': userAtEnd,
    'tool-use-id: an empty tool id': renameLast(''),
    'tool-use-id: a tool id of 41 characters': renameLast('a'.repeat(41)),
    'tool-result-without-use: a result after a plain assistant message': add('6', tool('aaaaaaaa1')),
  });
});

describe('Mistral chat messages', () => {
  promises(validateMistral, chat, chatShape, openAiRules, {
    'tool-use-id: a tool id of 8 characters': renameLast('aaaaaaaa'),
    'tool-use-id: a tool id of 10 characters': renameLast('aaaaaaaaaa'),
    'tool-use-id: a tool id with an underscore': renameLast('call_aaaa'),
    'user-after-tool: a user who speaks right after a result': userAtEnd,
  });
});

describe('local chat templates', () => {
  promises(validateLocalTemplate, chat, chatShape, {
    'takes: any number of tool calls and results between two turns': add('9', ...chat.slice(2, 6)),
    'takes: an id of an earlier call': renameLast('aaaaaaaa1'),
    'roles-not-alternating: a conversation that starts with a plain assistant': add('1', chat[5]),
    'roles-not-alternating: two user messages in a row': add('6', chat[6]),
    'roles-not-alternating: two plain assistant messages in a row': add('5', chat[5]),
    'roles-not-alternating: a user who speaks right after a result': userAtEnd,
  });
});

const modelCall = (id: string, providerOptions?: unknown): unknown => ({
  ...{ type: 'tool-call', toolCallId: id, toolName: `tool-${id}`, input: {} },
  ...(providerOptions !== undefined && { providerOptions }),
});
const modelResult = (id: string, type = 'text'): unknown => ({
  ...{ type: 'tool-result', toolCallId: id, toolName: `tool-${id}`, output: { type, value: 'done' } },
});
const google = { thoughtSignature: 'c2ln' };
const hidden = { type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'rs_1' } } };

/** With the signatures and item ids that each provider wants back: valid for every provider through the AI SDK. */
const model: readonly unknown[] = [
  { role: 'user', content: [text('What?'), { type: 'file', data: png(640, 480), mediaType: 'image/png' }] },
  {
    role: 'assistant',
    content: [
      hidden,
      text('I look.'),
      modelCall('call1', { google, openai: { itemId: 'fc_1' } }),
      modelCall('call2'),
    ],
  },
  { role: 'tool', content: [modelResult('call1'), modelResult('call2', 'error-text')] },
  { role: 'assistant', content: [text('A cat.')] },
  { role: 'user', content: [text('Sure?')] },
  { role: 'assistant', content: [modelCall('call3', { google })] },
  { role: 'tool', content: [modelResult('call3')] },
  { role: 'user', content: [text('Go on.')] },
];
const renameCall = (id: string): Change =>
  all(
    put('5.content.0', { ...(modelCall(id, { google }) as object), toolName: 'read' }),
    put('6.content.0', { ...(modelResult(id) as object), toolName: 'read' }),
  );

const modelShape: Plants = {
  'empty-request: a request without messages': keep(0, 0),
  'shape: a message that is no object': put('7', 'Go on.'),
  'shape: a role it does not know': put('7.role', 'system'),
  'shape: content that is no list': put('7.content', 'Go on.'),
  'shape: a field the SDK does not know': put('7.timestamp', 1),
  'shape: a part with a field the SDK does not know': put('5.content.0.args', {}),
  'shape: an output with a field the SDK does not know': put('6.content.0.output.isError', true),
  'shape: a part of an unknown type': put('7.content.0.type', 'input_text'),
  'shape: a part of another role': add('4.content.0', hidden),
  'shape: a text that is no string': put('3.content.0.text', null),
  'shape: a file that is not base64': put('0.content.1.data', url),
  'shape: a file without a media type': put('0.content.1.mediaType', 'png'),
  'shape: provider options that are no object': put('3.content.0.providerOptions', { google: 'x' }),
  'tool-input: a tool call whose input is text': put('5.content.0.input', '{}'),
  'empty-content: a message without parts': put('3.content', []),
};

describe('AI SDK messages', () => {
  promises(validateAiSdkMessages, model, modelShape, {
    'shape: a tool call without an id': [cut('5.content.0.toolCallId'), 'tool-result-without-use'],
    'shape: a result without a tool name': [cut('6.content.0.toolName'), 'tool-use-without-result'],
    'shape: an output of an unknown type': [put('6.content.0.output.type', 'x'), 'tool-use-without-result'],
    'shape: an output without a value': [cut('6.content.0.output.value'), 'tool-use-without-result'],
    'empty-text: an empty text': put('3.content.0.text', ''),
    'empty-text: an empty result': put('6.content.0.output.value', ''),
    'empty-text: empty reasoning that carries nothing': cut('1.content.0.providerOptions'),
    'tool-use-without-result: a tool call without an answer': cut('2.content.1'),
    'tool-use-without-result: a conversation that ends with a tool call': keep(0, 6),
    'tool-use-without-result: a result after a user message': [swap('6', '7'), 'tool-result-without-use'],
    'tool-result-without-use: a result nobody asked for': cut('1.content.3'),
    'duplicate-tool-result: two results for one call': add('6.content.0', modelResult('call3')),
    'tool-result-order: results in another order than the calls': swap('2.content.0', '2.content.1'),
    'tool-name-mismatch: a result with the name of another tool': put('2.content.0.toolName', 'x'),
    'duplicate-tool-use-id: one id for two calls': renameCall('call1'),
  });
});

describe('Gemini through the AI SDK', () => {
  promises(validateGemini, model, modelShape, {
    'takes: an id of 64 characters': renameCall('a'.repeat(64)),
    'first-message-not-user: a conversation that starts with the assistant': keep(3, 8),
    'function-call-turn-order: a function call in the first turn': [cut('0'), 'first-message-not-user'],
    'function-call-turn-order: a function call after a model turn': cut('4'),
    'function-response-count: fewer responses than calls': cut('2.content.1'),
    'function-response-count: more responses than calls': cut('1.content.3'),
    'function-response-count: a call without a response turn': cut('6'),
    'function-response-count: a response turn without calls': add('4', model[6]),
    'tool-use-id: an id with an underscore': renameCall('call_3'),
    'tool-use-id: an empty id': renameCall(''),
    'tool-use-id: an id of 65 characters': renameCall('a'.repeat(65)),
    'missing-thought-signature: a first call without a signature': cut('5.content.0.providerOptions'),
    'missing-thought-signature: a first call with an empty signature': put(
      '5.content.0.providerOptions.google.thoughtSignature',
      '',
    ),
    'missing-thought-signature: a signature on the second call only': swap('1.content.2', '1.content.3'),
  });
});

describe('Bedrock through the AI SDK', () => {
  promises(validateBedrock, model, modelShape, {
    'takes: an id of 64 characters': renameCall('a'.repeat(64)),
    'takes: results from anywhere in the user turn after the calls': swap('6', '7'),
    'takes: a blank result': put('6.content.0.output.value', ' '),
    'first-message-not-user: a conversation that starts with the assistant': cut('0'),
    'roles-not-alternating: two assistant turns in a row': cut('4'),
    'empty-text: a blank text': put('3.content.0.text', ' \n'),
    'tool-use-id: an id with a character outside its alphabet': renameCall('call|3'),
    'tool-use-id: an empty id': renameCall(''),
    'tool-use-id: an id of 65 characters': renameCall('a'.repeat(65)),
    'tool-use-without-result: a tool call without an answer': cut('6'),
    'tool-result-without-use: a result nobody asked for': cut('1.content.3'),
    'duplicate-tool-result: two results for one call': add('7', model[6]),
    'duplicate-tool-use-id: one id for two calls': renameCall('call1'),
  });
});

describe('OpenAI responses through the AI SDK', () => {
  promises(validateOpenAiResponses, model, modelShape, {
    'takes: an id of 64 characters': renameCall('a'.repeat(64)),
    'takes: an output some messages after its call': swap('6', '7'),
    'tool-use-without-result: a function call without an output': cut('6'),
    'tool-use-without-result: an output before its call': [swap('5', '6'), 'tool-result-without-use'],
    'tool-result-without-use: an output nobody asked for': cut('1.content.3'),
    'tool-use-id: an empty call id': renameCall(''),
    'tool-use-id: a call id of 65 characters': renameCall('a'.repeat(65)),
    'reasoning-without-following-item: reasoning with nothing after it': add('3.content.1', hidden),
    'function-call-without-reasoning: a stored call without its reasoning': cut('1.content.0'),
    'function-call-without-reasoning: a stored call before its reasoning': swap('1.content.0', '1.content.2'),
  });
});

/** Random JSON that speaks the providers' words, so that it gets past the first check. */
const words =
  'user assistant tool system text image image_url tool_use tool_result thinking redacted_thinking id base64 ' +
  'image/png tool-call tool-result reasoning file function error-text {} /9j/ iVBORw0KGgo= UklGRg==';
const keys =
  'role content type text id name input tool_use_id tool_calls tool_call_id function arguments source data ' +
  'media_type signature thinking image_url url toolCallId toolName output value providerOptions google openai ' +
  'mediaType is_error __proto__ length';
const { value: nearly } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('', ...words.split(' ')),
    fc.jsonValue(),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom(...keys.split(' ')), tie('value'), { maxKeys: 6 }),
  ),
}));

describe.each([
  ['Anthropic', validateAnthropicMessages],
  ['OpenAI chat', validateOpenAiChat],
  ['Mistral', validateMistral],
  ['local template', validateLocalTemplate],
  ['AI SDK', validateAiSdkMessages],
  ['Gemini', validateGemini],
  ['Bedrock', validateBedrock],
  ['OpenAI responses', validateOpenAiResponses],
] as const)('the %s validator', (_name, validate) => {
  it('never throws, whatever JSON it is given, and points at a place in it', () => {
    const json = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()), nearly, fc.array(nearly));
    fc.assert(
      fc.property(json, (messages) => {
        for (const { rule, at: place, message } of validate(messages as readonly unknown[])) {
          expect(rule).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
          expect(message).not.toBe('');
          expect(reach({ messages }, keysOf(place))).not.toBe(undefined);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('never throws when one place of a valid conversation becomes something else', () => {
    const place = fc.array(fc.nat(9), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.constantFrom(anthropic, chat, model), place, nearly, (valid, choices, value) => {
        const messages = structuredClone([...valid]);
        let owner = messages as unknown as Record<string, unknown>;
        let key = '0';
        for (const [depth, choice] of choices.entries()) {
          const inner = owner[key];
          if (depth > 0 && (typeof inner !== 'object' || inner === null)) break;
          if (depth > 0) owner = inner as Record<string, unknown>;
          const names = Object.keys(owner);
          key = names[choice % names.length] ?? key;
        }
        owner[key] = value;
        expect(Array.isArray(validate(messages))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('reads input of any depth without running out of stack', () => {
    let deep: unknown = 'bottom';
    for (let depth = 0; depth < 200_000; depth += 1) deep = depth % 2 ? [deep] : { content: deep };
    const deepText = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const messages = [
      deep,
      { role: 'user', content: deep },
      { role: 'user', content: [deep] },
      { role: 'assistant', content: [{ ...(use('a') as object), input: { deep } }] },
      { role: 'assistant', content: [{ ...(modelCall('a') as object), input: { deep } }] },
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'a', arguments: deepText } }],
      },
    ];
    expect(validate(messages).length).toBeGreaterThan(0);
    expect(validate(deep as readonly unknown[]).length).toBeGreaterThan(0);
  });

  // A validator that is not linear would not finish these in the time a test has.
  it('reads a conversation of 200,000 messages, and one message of 200,000 parts', () => {
    const parts = Array.from({ length: 200_000 }, (_, n) => text(`${n}`));
    expect(validate([{ role: 'user', content: parts }])).toEqual([]);
    const users = parts.map((part) => ({ role: 'user', content: [part] }));
    expect(validate(users).every(({ rule }) => rule === 'roles-not-alternating')).toBe(true);
  });
});
