/** A thread of clients that read a stream of events as fast as they can, or not at all, so that the server is measured alone. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parentPort, Worker, workerData } from 'node:worker_threads';

export interface ListenersOptions {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly count: number;
  /** In the last event each is to hear. */
  readonly last: string;
  /** They take what comes first, and nothing more. */
  readonly deaf?: boolean;
}

export interface Listeners {
  /** All have heard the last event. */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

type Message = 'open' | 'done';

/** Resolves when all of them are connected and have been answered. */
export async function openListeners(options: ListenersOptions): Promise<Listeners> {
  const worker = new Worker(new URL(import.meta.url), { workerData: options });
  const heard = (wanted: Message): Promise<void> =>
    new Promise((resolve, reject) => {
      worker.on('message', (message: Message) => message === wanted && resolve());
      worker.once('error', reject);
    });
  const done = heard('done');
  await heard('open');
  return { done, close: async () => void (await worker.terminate()) };
}

async function listen({ port, path, token, deaf = false }: ListenersOptions): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await once(socket, 'data');
  if (deaf) socket.pause();
  return socket;
}

function untilHeard(socket: Socket, last: string): Promise<void> {
  return new Promise((resolve) => {
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      const text = tail + chunk.toString('latin1');
      if (text.includes(last)) resolve();
      tail = text.slice(-last.length);
    });
  });
}

if (parentPort !== null) {
  const options = workerData as ListenersOptions;
  const sockets = await Promise.all(Array.from({ length: options.count }, () => listen(options)));
  const heard = options.deaf === true ? [] : sockets.map((socket) => untilHeard(socket, options.last));
  parentPort.postMessage('open' satisfies Message);
  await Promise.all(heard);
  parentPort.postMessage('done' satisfies Message);
}
