import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call of a tool in an answer. */
export interface FakeCall {
  readonly id: string;
  readonly name: string;
  /** Codex groups the tools of an MCP server. */
  readonly namespace?: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface FakeAnswer {
  readonly text?: string;
  readonly calls?: readonly FakeCall[];
}

type Json = Readonly<Record<string, unknown>>;

export interface FakeRequest {
  readonly path: string;
  readonly body: Json;
}

/** A model provider on loopback: it speaks the wire formats of Anthropic and OpenAI, and records each request. */
export class FakeProvider implements AsyncDisposable {
  readonly requests: FakeRequest[] = [];
  /** Decides the answer; unset: it repeats a part of what it was asked. */
  answer: (request: FakeRequest) => FakeAnswer = () => ({ text: 'fine' });
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #count = 0;

  static async start(): Promise<FakeProvider> {
    const provider = new FakeProvider();
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request;
    const path = url.split('?')[0] ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (headers.upgrade !== undefined) return end(response, 426, {});
    if (method === 'HEAD') return end(response, 200, {});
    if (path.endsWith('/models')) return end(response, 200, { object: 'list', data: [], models: [] });
    if (method !== 'POST') return end(response, 404, {});
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}') as Json;
    if (path.endsWith('/count_tokens')) return end(response, 200, { input_tokens: 100 });
    const asked = { path, body };
    if (!/\/(?:messages|responses|chat\/completions)$/.test(path)) return end(response, 404, {});
    this.requests.push(asked);
    const answer = this.answer(asked);
    const id = `${++this.#count}`;
    if (body['stream'] !== true) return end(response, 200, whole(path, id, answer));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = path.endsWith('/messages')
      ? anthropicEvents(id, answer)
      : path.endsWith('/responses')
        ? responsesEvents(id, answer)
        : chatEvents(id, answer);
    for (const event of events) {
      const name = typeof event === 'object' && 'type' in event ? `event: ${String(event['type'])}\n` : '';
      response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  }
}

function end(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function whole(path: string, id: string, { text = '', calls = [] }: FakeAnswer): object {
  if (!path.endsWith('/messages'))
    return {
      id,
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    };
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: 'fake',
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...calls.map((call) => ({ type: 'tool_use', ...call })),
    ],
    stop_reason: 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5 },
  };
}

function* anthropicEvents(id: string, { text = '', calls = [] }: FakeAnswer): Generator<Json> {
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  };
  const message = {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-fake',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  yield { type: 'message_start', message };
  let index = 0;
  if (text !== '') {
    yield { type: 'content_block_start', index, content_block: { type: 'text', text: '' } };
    yield { type: 'content_block_delta', index, delta: { type: 'text_delta', text } };
    yield { type: 'content_block_stop', index: index++ };
  }
  for (const { id: callId, name, input } of calls) {
    yield {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: callId, name, input: {} },
    };
    yield {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    };
    yield { type: 'content_block_stop', index: index++ };
  }
  yield {
    type: 'message_delta',
    delta: { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
    usage: { output_tokens: 5 },
  };
  yield { type: 'message_stop' };
}

function* responsesEvents(id: string, { text = '', calls = [] }: FakeAnswer): Generator<Json> {
  const response = { id: `resp_${id}`, object: 'response', status: 'in_progress', output: [] };
  yield { type: 'response.created', response };
  const items = [
    ...(text === ''
      ? []
      : [
          {
            type: 'message',
            id: `item_${id}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map((call) => ({
      type: 'function_call',
      id: `fc_${call.id}`,
      call_id: call.id,
      name: call.name,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
      arguments: JSON.stringify(call.input),
      status: 'completed',
    })),
  ];
  for (const [index, item] of items.entries()) {
    yield { type: 'response.output_item.added', output_index: index, item };
    yield { type: 'response.output_item.done', output_index: index, item };
  }
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  yield { type: 'response.completed', response: { ...response, status: 'completed', output: items, usage } };
}

function* chatEvents(id: string, { text = '', calls = [] }: FakeAnswer): Generator<Json | string> {
  const chunk = (delta: object, finish: string | null = null): Json => ({
    id: `chat_${id}`,
    object: 'chat.completion.chunk',
    created: 0,
    model: 'fake',
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  yield chunk({ role: 'assistant', content: text });
  for (const [index, { id: callId, name, input }] of calls.entries())
    yield chunk({
      tool_calls: [
        { index, id: callId, type: 'function', function: { name, arguments: JSON.stringify(input) } },
      ],
    });
  yield chunk({}, calls.length > 0 ? 'tool_calls' : 'stop');
  yield '[DONE]';
}
