const MAX_REDIRECTS = 5;
/** Redirects that repeat the request unchanged; the others would turn it into a GET without a body. */
const REPEATED: ReadonlySet<number> = new Set([307, 308]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, ...REPEATED]);
/** Misdirected Request: sending the same request again does not help. */
const MISDIRECTED = 421;

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
  const where = to === undefined ? 'an address that cannot be read' : to.origin;
  const message = `${from.origin} redirects to ${where} (${status}); the key and the conversation are not sent there. If the provider moved, set its baseURL.`;
  return Response.json({ error: { message, type: 'redirect_refused' } }, { status: MISDIRECTED });
}
