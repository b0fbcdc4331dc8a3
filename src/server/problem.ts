import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import { asRepriseError, PROBLEM_TYPE, problemOf } from '../protocol/problem.ts';
import type { ServerContext, ServerEnv } from './context.ts';
import { methodsOf } from './security/access.ts';

type Ctx = Context<ServerEnv>;

const MAX_SHOWN_PATH = 200;
const RETRY_SECONDS = 1;
/** A client that is refused holds no connection that others need. */
const LAST_ON_ITS_CONNECTION: ReadonlySet<number> = new Set([401, 429]);

/** Every error leaves the server here. */
export function answerProblem({
  logger,
}: Pick<ServerContext, 'logger'>): (error: unknown, c: Ctx) => Response {
  return (thrown, c) => {
    const error = asRepriseError(
      isBadJson(thrown) ? failure('INVALID_INPUT', 'request.bodyNotJson', {}, { cause: thrown }) : thrown,
    );
    const problem = problemOf(error, c.req.path);
    if (error.code === 'INTERNAL')
      logger.error({ requestId: c.get('requestId'), route: c.get('route'), err: error.cause }, 'a bug');
    const headers = headersOf(error, problem.status);
    if (LAST_ON_ITS_CONNECTION.has(problem.status)) headers['Connection'] = 'close';
    return c.body(JSON.stringify(problem), { status: problem.status as 400, headers });
  };
}

function headersOf(error: RepriseError, status: number): Record<string, string> {
  const { retryAfter, allow } = error.details;
  const isLater = status === 503 || status === 507 || (error.retryable && status < 500);
  const seconds = typeof retryAfter === 'number' ? retryAfter : isLater ? RETRY_SECONDS : undefined;
  return {
    'Content-Type': PROBLEM_TYPE,
    ...(seconds !== undefined && { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) }),
    ...(error.code === 'UNAUTHORIZED' && { 'WWW-Authenticate': 'Bearer realm="reprise"' }),
    ...(typeof allow === 'string' && { Allow: allow }),
  };
}

/** Thrown by the validator of Hono, which throws nothing else. */
function isBadJson(error: unknown): boolean {
  return error instanceof HTTPException && error.status === 400;
}

/** Nothing is there, or not with this method. Asked only of those who may know. */
export function answerNotFound(c: Ctx): never {
  const { method, path } = c.req;
  const allowed = methodsOf(path);
  const shown = path.slice(0, MAX_SHOWN_PATH);
  if (allowed.length === 0) throw failure('NOT_FOUND', 'request.noRoute', { path: shown });
  const allow = [...new Set(allowed)].join(', ');
  throw failure(
    'METHOD_NOT_ALLOWED',
    'request.noMethod',
    { method: method.slice(0, 20), path: shown, allow },
    { details: { allow } },
  );
}
