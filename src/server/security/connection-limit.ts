import type { Socket } from 'node:net';

/** Why a connection was closed: it had sent no valid token, or all others had. */
export type DropReason = 'no-token' | 'limit';

const limitOf: WeakMap<Socket, ConnectionLimit> = new WeakMap();

/**
 * Keeps the number of connections below a limit. When the limit is reached, a new connection takes the place of the one
 * that has sent no valid token for the longest time. So connections without a token, however many, never keep the owner
 * out and never break a stream. Only if every connection belongs to the owner is the new one closed.
 */
export class ConnectionLimit {
  max: number;
  /** Least recently used first. */
  readonly #anonymous: Set<Socket> = new Set();
  /** With the signal that aborts when their token ends; from then on they count as anonymous. */
  readonly #trusted: Map<Socket, AbortSignal> = new Map();
  readonly #unreported: DropReason[] = [];
  #report: ((reason: DropReason) => void) | undefined;

  constructor(max: number) {
    this.max = max;
  }

  /** Reports every connection that is closed, also those from before the call. */
  onDrop(report: (reason: DropReason) => void): void {
    this.#report = report;
    for (const reason of this.#unreported.splice(0)) report(reason);
  }

  add(socket: Socket): void {
    if (this.#anonymous.size + this.#trusted.size >= this.max) {
      const oldest = this.#findExpendable();
      this.#drop(oldest ?? socket, oldest === undefined ? 'limit' : 'no-token');
      if (oldest === undefined) return;
    }
    this.#anonymous.add(socket);
    limitOf.set(socket, this);
    socket.once('close', () => this.#forget(socket));
  }

  /** A request came: the connection is the most recently used one. */
  touch(socket: Socket): void {
    if (this.#anonymous.delete(socket)) this.#anonymous.add(socket);
  }

  /** The owner uses the connection until the signal aborts. */
  trust(socket: Socket, until: AbortSignal): void {
    if (socket.destroyed) return;
    this.#anonymous.delete(socket);
    this.#trusted.set(socket, until);
  }

  #findExpendable(): Socket | undefined {
    const [oldest] = this.#anonymous;
    if (oldest !== undefined) return oldest;
    for (const [socket, until] of this.#trusted) if (until.aborted) return socket;
    return undefined;
  }

  #drop(socket: Socket, reason: DropReason): void {
    this.#forget(socket);
    socket.destroy();
    if (this.#report === undefined) this.#unreported.push(reason);
    else this.#report(reason);
  }

  #forget(socket: Socket): void {
    this.#anonymous.delete(socket);
    this.#trusted.delete(socket);
  }
}

/** Marks the connection of a request with a valid token. */
export function trustConnection(socket: Socket | undefined, until: AbortSignal): void {
  if (socket !== undefined) limitOf.get(socket)?.trust(socket, until);
}
