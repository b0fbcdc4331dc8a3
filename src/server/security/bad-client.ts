import type { Socket } from 'node:net';
import { RepriseError } from '../../errors.ts';
import { PROBLEM_TYPE, problemOf } from '../../protocol/problem.ts';

const BAD_CLIENTS: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
  UPGRADE: [400, 'this server upgrades to nothing'],
  CONNECT: [405, 'this server is no proxy'],
};

/** What never became a request. Said in the same form as everything else, then the connection is over. */
export function answerBadClient({ code = '' }: { code?: string }, socket: Socket): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, why] = BAD_CLIENTS[code] ?? [400, 'not HTTP this server can read'];
  const problem = { ...problemOf(new RepriseError('INVALID_INPUT', why), '/'), status };
  const body = JSON.stringify(problem);
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}
