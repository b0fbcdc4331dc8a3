/**
 * A front end of ZyHive, written only from the design document of its sessions: the five routes, the request body, the
 * fields of `sessions.json`, and an event stream that ends with `done`. It knows nothing of Reprise.
 */

export interface ListedSession {
  readonly id: string;
  readonly agentId: string;
  readonly filePath: string;
  readonly title: string;
  readonly messageCount: number;
  readonly createdAt: number;
  readonly lastAt: number;
  readonly tokenEstimate: number;
}

export interface ShownMessage {
  readonly role: string;
  readonly text: string;
  readonly timestamp: number;
}

export interface ChatEvent {
  readonly type: string;
  readonly text?: string;
  readonly sessionId?: string;
  readonly tokenEstimate?: number;
  readonly error?: string;
}

export interface SaidAnswer {
  readonly events: readonly ChatEvent[];
  readonly text: string;
  readonly done: ChatEvent;
}

interface Asked {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export class ZyhiveFrontEnd {
  readonly #url: string;
  readonly #token: string;
  readonly #agent: string;

  constructor(url: string, token: string, agent: string) {
    this.#url = url;
    this.#token = token;
    this.#agent = agent;
  }

  /** `onEvent` hears each event as it arrives. */
  async chat(
    message: string,
    sessionId?: string,
    {
      onEvent,
      ...headers
    }: { readonly onEvent?: (event: ChatEvent) => void; readonly idempotencyKey?: string } = {},
  ): Promise<SaidAnswer> {
    const body = { message, sessionId, context: '', images: [] };
    const { idempotencyKey } = headers;
    const response = await this.#ask('POST', '/chat', {
      body,
      headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    });
    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw new Error(`chat answered ${response.status} ${await response.text()}`);
    const events: ChatEvent[] = [];
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      rest += decoder.decode(chunk as Uint8Array, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (!line.startsWith('data: ')) continue;
        const event = JSON.parse(line.slice('data: '.length)) as ChatEvent;
        events.push(event);
        onEvent?.(event);
      }
    }
    const done = events.at(-1);
    if (done === undefined) throw new Error('a stream without events');
    const text = events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('');
    return { events, text, done };
  }

  async sessions(): Promise<ListedSession[]> {
    return (await this.#json('GET', '/sessions')) as ListedSession[];
  }

  async messages(sessionId: string): Promise<ShownMessage[]> {
    const { messages } = (await this.#json('GET', `/sessions/${sessionId}`)) as { messages: ShownMessage[] };
    return messages;
  }

  async rename(sessionId: string, title: string): Promise<void> {
    await this.#json('PATCH', `/sessions/${sessionId}`, { body: { title } });
  }

  async remove(sessionId: string): Promise<void> {
    await this.#json('DELETE', `/sessions/${sessionId}`);
  }

  async #json(method: string, path: string, asked: Asked = {}): Promise<unknown> {
    const response = await this.#ask(method, path, asked);
    const told = (await response.json()) as { readonly error?: string };
    if (!response.ok) throw new Error(`${response.status}: ${told.error}`);
    return told;
  }

  #ask(method: string, path: string, { body, headers = {} }: Asked): Promise<Response> {
    return fetch(`${this.#url}/api/agents/${this.#agent}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}
