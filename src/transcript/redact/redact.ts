/*
 * Masks secrets in log lines and exports: keys, tokens, passwords, cookies, key files. Pure; stored data is not
 * changed. A secret is replaced by the same number of characters, so that offsets into a text still point at the same
 * words.
 */

import { findBareSecrets, findServiceSecrets, type Span } from './known-secrets.ts';

const MASK = '*';
/** The start of a word, also right after the letter of an escape such as `\n` in text that contains JSON. */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;
/** Characters of an unquoted token. */
const TOKEN = '[A-Za-z0-9._~+/=-]';
/** A random value has a digit or is long; words of a sentence are neither. */
const RANDOM = String.raw`(?:(?=${TOKEN}{0,40}\d)${TOKEN}{8,}|${TOKEN}{20,})`;
const QUOTE = String.raw`\\?["']?`;
const IS = String.raw`${QUOTE}\s{0,8}[:=]\s{0,8}${QUOTE}`;

/** Names of fields and variables whose value is a secret. */
const SECRET_WORD =
  'api[_-]?key|passwd|password|passphrase|passcode|secret|private[_-]?key(?:[_-]?id)?|(?:secret|access|account|shared[_-]?access|auth|signing|encryption)[_-]?key|secret[_-]?access[_-]?key|credentials?';
/** Names for secrets in a sentence. */
const SPOKEN =
  'password|passwort|passphrase|passcode|passwd|pwd|pin|pin code|api key|secret key|access key|login';

/** The first group of each pattern, if it has one, is the part before the secret that stays. */
const PATTERNS: readonly RegExp[] = [
  // Keys with known prefixes.
  pattern(String.raw`(sk-)(?:(?=[\w-]{0,40}\d)[\w-]{6,}|[\w-]{20,})`),
  pattern(String.raw`((?:sk|pk|rk)_(?:live|test)_)\w{8,}`),
  pattern(String.raw`(gh[pousr]_|github_pat_|glpat-|hf_|gsk_|xai-|npm_)[\w-]{16,}`),
  pattern(String.raw`(xox[abeprs]-)[\w-]{8,}`),
  pattern('(AKIA|ASIA)[0-9A-Z]{16}'),
  pattern(String.raw`(AIza)[\w-]{30,}`),
  // A JSON web token.
  // It begins no earlier than its word: a search from every "eyJ" in a long word would take quadratic time.
  /((?:(?<![\w-])|(?<=\\[nrt]))eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  // Headers. A cookie header has a name and a value; without them the word means food.
  pattern(String.raw`((?:proxy-)?authorization${IS}(?:(?:bearer|basic|digest|token)\s{1,8})?)[^\s"'\\]+`),
  pattern(String.raw`((?:set-)?cookie${IS})[^\s"'=;\\]{1,256}=[^\r\n"'\\]*`),
  pattern(String.raw`(bearer\s{1,8})${RANDOM}`),
  // A password in a URL extends to the last @ of its part, because users forget to escape theirs.
  /(:\/\/[^\s/?#:@"'\\]{0,256}:)[^\s/"'\\]{1,512}(?=@)/g,
  /([?&#](?:access_token|api_?key|auth|key|password|secret|sig|signature|token)=)[^&\s"'#\\]+/gi,
  // Values named as a secret, whatever precedes the name: DB_PASSWORD, accessToken.
  new RegExp(String.raw`((?:${SECRET_WORD})${IS})(?:(?<=["'])[^"'\\\r\n]+|[^\s"',;}\\]{4,})`, 'gi'),
  new RegExp(`(token${IS})${RANDOM}`, 'gi'),
  // DB_PASS=, but not PWD=/home/ada.
  /((?<![A-Za-z0-9])(?:[A-Z0-9_]{0,40}_)?(?:PASS|PWD|PW)\s{0,2}=\s{0,2}["']?)(?![/$~])[^\s"';&]{4,}/g,
  new RegExp(
    String.raw`((?<![A-Za-z0-9])(?:[A-Z0-9]{1,30}_){1,5}(?:KEY|AUTH|CREDS?|SALT|DSN)\s{0,2}=\s{0,2}["']?)${RANDOM}`,
    'g',
  ),
  /((?<![A-Za-z])(?:pwd|pass)\s{0,2}=\s{0,2})(?![/$~])[^\s"';&,)]{4,}(?=[;"'\s]|$)/gi,
  // Written by a person in a sentence. An ordinary word ("is wrong") has neither digits nor signs.
  new RegExp(
    String.raw`((?<![A-Za-z])(?:${SPOKEN})\s{1,4}(?:is|was|=|:)\s{0,4}(?:now\s{1,4})?)(?:["'\x60“][^"'\x60”\r\n]{4,200}|(?=[^\s]{0,60}[\d!@#$%^&*+])[^\s"'\x60“”,;]{4,200})`,
    'gi',
  ),
  /((?:密码|口令|密钥|秘钥|令牌|助记词|验证码)[^\S\r\n]{0,4}(?:就?是|为|：|:|=)?[^\S\r\n]{0,4}["'“「]?)(?=[\x21-\x7e])[\x21-\x7e]{4,200}/g,
  // .netrc, and programs that take a password as an argument.
  /((?<![A-Za-z])login\s{1,40}\S{1,128}\s{1,40}password\s{1,40})\S{1,256}/g,
  /((?<![\w-])(?:-u|--user|--proxy-user)[\s=]{1,4}["']?[^\s:"'/]{1,128}:)[^\s"'/][^\s"']{2,256}/g,
  /((?<![\w-])(?:sshpass\s{1,4}-p|mysql(?:dump)?\s[^\r\n]{0,80}?\s-p)\s{0,2}["']?)(?![\s-])[^\s"']{3,128}/g,
  // The public key in a Sentry URL.
  /(:\/\/)[0-9a-f]{32}(?=@[\w.-]{1,128}sentry)/g,
  // The credentials of a registry in a Docker configuration.
  /("auth"\s{0,4}:\s{0,4}")[A-Za-z0-9+/]{8,400}={0,2}(?=")/g,
];

function pattern(source: string): RegExp {
  return new RegExp(`${START}${source}`, 'gi');
}

/** Masks every secret in a text; the length stays the same. */
export function redactText(text: string): string {
  let redacted = redactPem(text);
  for (const each of PATTERNS)
    redacted = redacted.replace(each, (found: string, kept: string) => kept + mask(found.slice(kept.length)));
  return maskSpans(maskSpans(redacted, findServiceSecrets(redacted)), findBareSecrets(redacted));
}

/** The spans may overlap. */
function maskSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let masked = '';
  let done = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= done) continue;
    const from = Math.max(start, done);
    masked += text.slice(done, from) + mask(text.slice(from, end));
    done = end;
  }
  return masked + text.slice(done);
}

const SECRET_NAME =
  /^(?:x-?)?(?:(?:proxy-?)?authorization|(?:set-?)?cookie|(?:[a-z]+[-_]?)?(?:api[-_]?key|passwd|password|passphrase|secret|private[-_]?key|access[-_]?key)|(?:access|auth|bearer|refresh|id)?[-_]?token|credentials?)$/i;

/** Masks secrets in a value: the value of a field with a secret's name is masked completely. Returns a copy. */
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

/** Names of fields that link entries. If two ids became the same asterisks, the history would lose its structure. */
const ID_NAME =
  /^(?:id|parentId|toolCallId|firstKeptEntryId|targetId|leafId|sessionId|inboxId|turnId|blob|seal)$/;

/** Like `redactJson`, for transcript entries: images stay unchanged, and ids stay unless they are a known token. */
export function redactEntry(value: unknown, name: string = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => redactEntry(each, name));
  if (typeof value === 'string' && ID_NAME.test(name) && findServiceSecrets(value).length === 0) return value;
  if (typeof value !== 'object' || value === null) return redactUnder(name, value);
  const { type } = value as { readonly type?: unknown };
  const isImage = type === 'image' || type === 'base64';
  const copy: [string, unknown][] = Object.entries(value).map(([key, each]) => [
    redactText(key),
    isImage && key === 'data' ? each : redactEntry(each, key),
  ]);
  return Object.fromEntries(copy);
}

const PEM_BEGIN = /-----BEGIN [A-Z0-9 ]{1,64}-----/g;
const PEM_BODY = /(?:[A-Za-z0-9+/=\s]|\\[nr])*/y;

/**
 * Masks the text between the marks; without an end mark, the longest possible range. Each search stops at the next
 * mark.
 */
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

/** Masks characters but keeps line breaks, also escaped ones. */
function mask(secret: string): string {
  return secret.replace(/\\[nrt]|[^\r\n]/g, (found) =>
    found.startsWith('\\') && found.length === 2 ? found : MASK,
  );
}
