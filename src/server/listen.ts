import { getRequestListener } from '@hono/node-server';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { PROBLEM_TYPE, problemOf } from '../protocol/problem.ts';
import type { ServerApp } from './context.ts';
import { type BindOptions, type Bound, bind } from './security/bind.ts';

export interface ListenOptions extends BindOptions {
  readonly app: ServerApp;
  /** A socket that listens already. */
  readonly bound?: Bound | undefined;
}

/** Lets the app answer what comes to the socket. */
export async function listen({ app, bound, ...where }: ListenOptions): Promise<Bound> {
  const socket = bound ?? (await bind(where));
  answerWith(app, socket);
  return socket;
}

export function answerWith(app: ServerApp, socket: Bound): void {
  const listener = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    // bind.ts discards what is left of a body.
    autoCleanupIncoming: false,
    // What the adapter cannot read at all: a broken host or target.
    errorHandler: (cause) =>
      refusal(failure('INVALID_INPUT', 'request.malformed', { problem: 'target' }, { cause })),
  });
  socket.answer((incoming, outgoing) => void listener(incoming, outgoing));
}

function refusal(error: RepriseError): Response {
  const problem = problemOf(error, '/');
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'Content-Type': PROBLEM_TYPE,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    },
  });
}
