import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

type Way = 'up' | 'down';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A network between a client and a server that does what networks do: holds everything back, swallows answers, takes
 * connections and never answers, breaks them, or is not there. Nothing passes twice or in another order.
 */
export class TcpProxy implements AsyncDisposable {
  #target: { readonly host: string; readonly port: number };
  readonly #pairs: Set<Pair> = new Set();
  readonly #held: Set<Way> = new Set();
  #server: Server;
  #port = 0;
  #trap: { readonly text: string; readonly way: Way; readonly sprung: () => void } | undefined;

  private constructor(host: string, port: number) {
    this.#target = { host, port };
    this.#server = this.#listener();
  }

  /** In front of the server of a URL. */
  static async before(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new TcpProxy(hostname, Number(port));
    await proxy.#listen();
    return proxy;
  }

  /** The same URL through this proxy. */
  through(url: string): string {
    const other = new URL(url);
    other.port = String(this.#port);
    return other.href;
  }

  /** Who connects from now on comes to another server, as where a name has moved; connections that are there stay. */
  lead(url: string): void {
    const { hostname, port } = new URL(url);
    this.#target = { host: hostname, port: Number(port) };
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** From now on nothing passes that way: neither what was sent, nor that a connection was closed. */
  hold(...ways: readonly Way[]): void {
    for (const way of ways) this.#held.add(way);
    for (const pair of this.#pairs) this.#apply(pair);
  }

  /**
   * Holds both ways from the moment a client sends this text: `up` before the server has it, `down` when the server has
   * it and its answer is on the way. Resolves then.
   */
  trap(text: string, way: Way): Promise<void> {
    return new Promise((resolve) => {
      this.#trap = { text, way, sprung: resolve };
    });
  }

  /** Everything held back is sent; refused clients may connect again. */
  async heal(): Promise<void> {
    this.#held.clear();
    this.#trap = undefined;
    for (const pair of this.#pairs) this.#apply(pair);
    if (!this.#server.listening) await this.#listen();
  }

  /** Breaks all connections, on both sides; what was held is lost. */
  reset(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    this.#pairs.clear();
  }

  /** It stops listening here; open connections stay. */
  refuse(): void {
    this.#server.close();
    this.#server = this.#listener();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.reset();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  #listener(): Server {
    return createServer((client) => this.#join(client));
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) socket.setNoDelay(true);
    this.#pass(pair, 'up');
    this.#pass(pair, 'down');
    this.#apply(pair);
  }

  #pass(pair: Pair, way: Way): void {
    const [from, to] = way === 'up' ? [pair.client, pair.server] : [pair.server, pair.client];
    from.on('data', (chunk: Buffer) => {
      const trap = way === 'up' && chunk.includes(this.#trap?.text ?? '\0never') ? this.#trap : undefined;
      if (trap === undefined) {
        to.write(chunk);
        return;
      }
      this.#trap = undefined;
      this.hold('up', 'down');
      if (trap.way === 'up') from.unshift(chunk);
      // Sent in spite of the hold: the server gets it, and its answer is lost.
      if (trap.way === 'down') to.write(chunk);
      trap.sprung();
    });
    // Each side learns that the other has gone only as far as the network lets it.
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => {
      if (this.#held.has(way)) return;
      to.destroy();
      this.#pairs.delete(pair);
    });
  }

  #apply({ client, server }: Pair): void {
    for (const [way, socket] of [
      ['up', client],
      ['down', server],
    ] as const) {
      if (this.#held.has(way)) socket.pause();
      else socket.resume();
    }
  }
}
