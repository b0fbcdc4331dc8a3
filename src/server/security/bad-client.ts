import type { Socket } from 'node:net';
import { failure } from '../../messages/failure.ts';
import type { MalformedRequest } from '../../messages/params/params-requests.ts';
import { PROBLEM_TYPE, problemOf } from '../../protocol/problem.ts';

const BAD_CLIENTS: Readonly<Record<string, readonly [number, MalformedRequest]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'timeout'],
  UPGRADE: [400, 'upgrade'],
  CONNECT: [405, 'connect'],
};

/** Answers what is not a request, with a problem as for any other error, and closes the connection. */
export function answerBadClient({ code = '' }: { code?: string }, socket: Socket): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, problem] = BAD_CLIENTS[code] ?? [400, 'http'];
  const error = failure('INVALID_INPUT', 'request.malformed', { problem });
  const body = JSON.stringify({ ...problemOf(error, '/'), status });
  socket.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}
