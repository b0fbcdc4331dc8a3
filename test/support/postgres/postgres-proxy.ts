import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What happens to the next commit that passes. */
export type CommitFate = 'pass' | 'cut-before' | 'cut-after' | 'close-after' | 'panic-after';

export interface PostgresProxy extends AsyncDisposable {
  readonly url: string;
  /**
   * `cut-before`: the server never hears of it. `cut-after`: the server does it, and the answer is lost. `close-after`: the
   * same, and from that moment on no connection gets through. `panic-after`: the server does it, and its last words are those of
   * one that has no disk left to write ahead.
   */
  fate: CommitFate;
  /** How often the fate was met. */
  readonly cuts: number;
  /** No connection gets through, as if the network were gone; open ones are cut. */
  isClosed: boolean;
}

/** A simple query as it goes over the wire. */
const COMMIT = Buffer.from('COMMIT\0');
/** The answer to it. */
const COMMITTED = Buffer.from('C\0\0\0\x0bCOMMIT\0');

/** The words of PostgreSQL, in another language than ours, as an error goes over the wire. */
const PANIC = [
  'SPANIK',
  'C53100',
  'Mkonnte nicht in Datei »pg_wal/xlogtemp.1« schreiben: No space left on device',
]
  .map((field) => `${field}\0`)
  .join('');

function panic(): Buffer {
  const fields = Buffer.from(`${PANIC}\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Between a store and its server: cuts connections at the one moment that matters. */
export async function openPostgresProxy(target: string): Promise<PostgresProxy> {
  const url = new URL(target);
  const sockets = new Set<Socket>();
  let isClosed = false;
  let cuts = 0;
  const server = createServer((client) => {
    if (isClosed) return void client.destroy();
    const upstream = connect(Number(url.port), url.hostname);
    let doom: CommitFate | undefined;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on('data', (chunk) => {
      if (proxy.fate === 'pass' || !chunk.includes(COMMIT)) return void upstream.write(chunk);
      cuts++;
      const { fate } = proxy;
      proxy.fate = 'pass';
      if (fate === 'cut-before') return cut();
      doom = fate;
      upstream.write(chunk);
    });
    let answers = Buffer.alloc(0);
    upstream.on('data', (chunk) => {
      if (doom === undefined) return void client.write(chunk);
      answers = Buffer.concat([answers, chunk]);
      const end = answers.indexOf(COMMITTED);
      if (end === -1) return;
      // Done there; this side never knows.
      if (doom === 'cut-after') return cut();
      if (doom === 'close-after') {
        proxy.isClosed = true;
        return;
      }
      client.end(Buffer.concat([answers.subarray(0, end), panic()]), cut);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const own = new URL(target);
  own.port = String((server.address() as AddressInfo).port);
  const proxy: PostgresProxy = {
    url: own.href,
    fate: 'pass',
    get cuts() {
      return cuts;
    },
    get isClosed() {
      return isClosed;
    },
    set isClosed(value) {
      isClosed = value;
      if (value) for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
