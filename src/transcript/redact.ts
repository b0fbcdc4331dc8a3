/*
 * What must not leave with a log line or an export: keys, tokens, passwords, cookies, key files. Pure, and never what
 * is stored: the original keeps its bytes. A secret is replaced by as many characters as it has, so that offsets into
 * a text still point at the same words.
 */

const MASK = '*';
/** A word that begins here, also behind the letter of an escape such as `\n` in text that holds JSON. */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;
/** Of a token without quotes. */
const TOKEN = '[A-Za-z0-9._~+/=-]';
/** Something random has a digit or is long; words of a sentence are neither. */
const RANDOM = String.raw`(?:(?=${TOKEN}{0,40}\d)${TOKEN}{8,}|${TOKEN}{20,})`;
const QUOTE = String.raw`\\?["']?`;
const IS = String.raw`${QUOTE}\s{0,8}[:=]\s{0,8}${QUOTE}`;

/** Each has the part that stays in front of the secret as its first group, if any part stays. */
const PATTERNS: readonly RegExp[] = [
  // Keys known by how they begin.
  pattern(String.raw`(sk-)(?:(?=[\w-]{0,40}\d)[\w-]{6,}|[\w-]{20,})`),
  pattern(String.raw`((?:sk|pk|rk)_(?:live|test)_)\w{8,}`),
  pattern(String.raw`(gh[pousr]_|github_pat_|glpat-|hf_|gsk_|xai-|npm_)[\w-]{16,}`),
  pattern(String.raw`(xox[abeprs]-)[\w-]{8,}`),
  pattern('(AKIA|ASIA)[0-9A-Z]{16}'),
  pattern(String.raw`(AIza)[\w-]{30,}`),
  // A JSON web token.
  pattern(String.raw`(eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]*`),
  // Headers. A cookie has a name and a value, or it is something to eat.
  pattern(String.raw`((?:proxy-)?authorization${IS}(?:(?:bearer|basic|digest|token)\s{1,8})?)[^\s"'\\]+`),
  pattern(String.raw`((?:set-)?cookie${IS})[^\s"'=;\\]{1,256}=[^\r\n"'\\]*`),
  pattern(String.raw`(bearer\s{1,8})${RANDOM}`),
  // A password in a URL goes on to the last @ of its part: people forget to escape theirs.
  /(:\/\/[^\s/?#:@"'\\]{0,256}:)[^\s/"'\\]{1,512}(?=@)/g,
  /([?&#](?:access_token|api_?key|auth|key|password|secret|sig|signature|token)=)[^&\s"'#\\]+/gi,
  // Values that are called a secret, whatever stands before: DB_PASSWORD, accessToken.
  new RegExp(
    String.raw`((?:api[_-]?key|passwd|password|passphrase|secret|private[_-]?key|secret[_-]?key|credentials?)${IS})(?:(?<=["'])[^"'\\\r\n]+|[^\s"',;}\\]{4,})`,
    'gi',
  ),
  new RegExp(`(token${IS})${RANDOM}`, 'gi'),
];

function pattern(source: string): RegExp {
  return new RegExp(`${START}${source}`, 'gi');
}

/** The text with every secret in it masked; as long as before. */
export function redactText(text: string): string {
  let redacted = redactPem(text);
  for (const each of PATTERNS)
    redacted = redacted.replace(each, (found: string, kept: string) => kept + mask(found.slice(kept.length)));
  return redacted;
}

const SECRET_NAME =
  /^(?:x-?)?(?:(?:proxy-?)?authorization|(?:set-?)?cookie|(?:[a-z]+[-_]?)?(?:api[-_]?key|passwd|password|passphrase|secret|private[-_]?key|access[-_]?key)|(?:access|auth|bearer|refresh|id)?[-_]?token|credentials?)$/i;

/** The same for a value: what stands under the name of a secret is masked whole. Gives a copy; changes nothing. */
export function redactJson(value: unknown): unknown {
  return redactUnder('', value);
}

function redactUnder(name: string, value: unknown): unknown {
  if (typeof value === 'string') return SECRET_NAME.test(name) ? mask(value) : redactText(value);
  if (Array.isArray(value)) return value.map((each) => redactUnder(name, each));
  if (typeof value !== 'object' || value === null) return value;
  const copy: [string, unknown][] = Object.entries(value).map(([key, each]) => [
    redactText(key),
    redactUnder(key, each),
  ]);
  return Object.fromEntries(copy);
}

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{1,64}-----/g;
const PEM_BODY = /(?:[A-Za-z0-9+/=\s]|\\[nr])*/y;

/** What is between the marks; without an end, as far as it could go on. Each search stops at the next mark. */
function redactPem(text: string): string {
  let redacted = '';
  let done = 0;
  for (const { 0: begin, index } of text.matchAll(PEM_BEGIN)) {
    const start = index + begin.length;
    if (index < done) continue;
    const next = text.indexOf('-----', start);
    PEM_BODY.lastIndex = start;
    const isWhole = next !== -1 && text.startsWith('-----END ', next);
    const end = isWhole ? next : start + (PEM_BODY.exec(text)?.[0].length ?? 0);
    redacted += text.slice(done, start) + mask(text.slice(start, end));
    done = end;
  }
  return done === 0 ? text : redacted + text.slice(done);
}

/** Lines stay lines, and an escaped line end stays one. */
function mask(secret: string): string {
  return secret.replace(/\\[nrt]|[^\r\n]/g, (found) =>
    found.startsWith('\\') && found.length === 2 ? found : MASK,
  );
}
