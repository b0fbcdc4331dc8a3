/** Header names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** How long a provider asks us to wait: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. */
export function readRetryAfter(headers: ResponseHeaders, now: number): number | undefined {
  const ms = number(headers['retry-after-ms']);
  if (ms !== undefined) return ms;
  const after = headers['retry-after'];
  const seconds = number(after);
  if (seconds !== undefined) return seconds * 1000;
  const date = after === undefined ? Number.NaN : Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
