import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Below those the system gives to callers: one of them would take the port while no server listens, and a client that
 * tries again and again would in the end be connected to itself.
 */
const [LOWEST_PORT, PORTS] = [20_000, 10_000];

/** For programs that cannot choose one themselves. No other test gets the same one while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    if (!(await claim(port))) continue;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Nothing here speaks UDP: the holder of that UDP port may also use the TCP port, also while no server listens. */
async function claim(port: number): Promise<boolean> {
  const sign = createSocket('udp4').unref();
  return await new Promise<boolean>((resolve) => {
    sign.once('error', () => {
      sign.close();
      resolve(false);
    });
    sign.bind(port, '127.0.0.1', () => resolve(true));
  });
}
