import { messageText } from '../../messages/english.ts';
import { message } from '../../messages/message.ts';

const MAX_REDIRECTS = 5;
/** Redirects that repeat the request unchanged; the others would turn it into a GET without a body. */
const REPEATED: ReadonlySet<number> = new Set([307, 308]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, ...REPEATED]);
/** Misdirected Request: sending the same request again does not help. */
const MISDIRECTED = 421;
/** `type` of the error that stands for a redirect. Its `params` are those of `model.redirect`. */
export const REDIRECT_REFUSED = 'redirect_refused';

type Fetch = typeof globalThis.fetch;

/**
 * Follows redirects within one origin only. `fetch` itself removes `Authorization` when the origin changes, but not
 * `x-api-key`, and it sends the conversation along. So a server that answers for the configured address could
 * redirect both to any host.
 */
export function sameOriginFetch(send?: Fetch): Fetch {
  return async (input, init) => {
    let target = input;
    for (let redirects = 0; ; redirects++) {
      const response = await (send ?? globalThis.fetch)(target, { ...init, redirect: 'manual' });
      if (!REDIRECTS.has(response.status)) return response;
      await response.body?.cancel();
      const from = new URL(target instanceof Request ? target.url : target);
      const location = response.headers.get('location') ?? '';
      const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
      const isRepeatable = REPEATED.has(response.status) && !(input instanceof Request);
      if (to?.origin !== from.origin || !isRepeatable || redirects >= MAX_REDIRECTS)
        return refusal(from, to, response.status);
      target = to;
    }
  };
}

/** A refusal in the format of a provider's own error, so that it is reported like one. */
function refusal(from: URL, to: URL | undefined, status: number): Response {
  const why = message('model.redirect', { from: from.origin, to: to?.origin ?? null, status });
  const error = { message: messageText(why), type: REDIRECT_REFUSED, params: why.params };
  return Response.json({ error }, { status: MISDIRECTED });
}
