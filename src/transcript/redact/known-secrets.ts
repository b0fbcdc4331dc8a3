import { isMnemonicWord } from './mnemonic-words.ts';
import { SECRET_RULES, SECRET_SERVICES, type SecretRule } from './secret-rules.ts';

/*
 * Finds secrets by their form. Every search is linear in the text: one pass finds the keywords, and the patterns at a
 * keyword have bounded repetitions and start after the last secret that was found.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** As in redact.ts: not inside a word, except right after the letter of an escape such as `\n`. */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;
/** Characters that follow a secret without a gap belong to it; a dot only if the secret continues after it. */
const REST = /(?:\.?[\w=+/~-]){0,2000}/y;

interface Compiled {
  readonly rule: SecretRule;
  pattern?: RegExp;
}

const rulesByKeyword: Map<string, Compiled[]> = new Map();
let keywordScan: RegExp | undefined;

/** Finds keys and tokens of services by their prefix. */
export function findServiceSecrets(text: string): Span[] {
  const spans: Span[] = [];
  let done = 0;
  keywordScan ??= compileKeywords();
  const scan = keywordScan;
  scan.lastIndex = 0;
  for (let hit = scan.exec(text); hit !== null; hit = scan.exec(text)) {
    // A shorter keyword may begin inside this one.
    scan.lastIndex = hit.index + 1;
    if (hit.index < done) continue;
    const end = secretAt(text, hit.index, hit[0].toLowerCase());
    if (end === undefined) continue;
    spans.push({ start: hit.index, end });
    done = end;
    scan.lastIndex = end;
  }
  return spans;
}

function compileKeywords(): RegExp {
  for (const rule of SECRET_RULES)
    for (const keyword of rule.keywords)
      rulesByKeyword.set(keyword, [...(rulesByKeyword.get(keyword) ?? []), { rule }]);
  const words = [...rulesByKeyword.keys()].sort((a, b) => b.length - a.length);
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`));
  return new RegExp(`${START}(?:${escaped.join('|')})`, 'gi');
}

/** @returns the end of the secret that begins here. */
function secretAt(text: string, index: number, found: string): number | undefined {
  // The scan reports the longest keyword; rules of a shorter one may match here too.
  for (let length = found.length; length > 1; length--)
    for (const compiled of rulesByKeyword.get(found.slice(0, length)) ?? []) {
      compiled.pattern ??= new RegExp(compiled.rule.pattern, 'y');
      compiled.pattern.lastIndex = index;
      const secret = compiled.pattern.exec(text)?.[0];
      if (secret === undefined || entropyOf(secret) < (compiled.rule.entropy ?? 0)) continue;
      REST.lastIndex = index + secret.length;
      return index + secret.length + (REST.exec(text)?.[0].length ?? 0);
    }
  return undefined;
}

/** `discord_secret = …`: a random value under the name of a service. */
const NAMED = new RegExp(
  String.raw`(?<![A-Za-z])(?:${SECRET_SERVICES.join('|')})[ \t\w.-]{0,20}[\s'"\\]{0,3}(?:=>|:=|[=:])[\x60'"\s=\\]{0,5}([\w=+%-]{15,200})(?![\w.:/@-])`,
  'gi',
);
const MIN_NAMED_ENTROPY = 3;

/** 40 or 43 separate characters of base64: an AWS secret key, or the token of our own server. */
const BARE =
  /(?<![A-Za-z0-9+/_=.@$-])(?<!sha\d{3}[-:])(?:[A-Za-z0-9+/]{40}|[A-Za-z0-9_-]{43})(?![A-Za-z0-9+/_=@-])/g;
const MIN_BARE_ENTROPY = 4.2;

const SHAPES: readonly RegExp[] = [
  // A Telegram bot token.
  /(?<![\w:])\d{8,10}:[A-Za-z0-9_-]{35}(?![\w-])/g,
  // A Discord bot token.
  /(?<![\w.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![\w-])/g,
  // Azure AD, Terraform Cloud, Airtable, MaxMind: their characteristic part is not at the start.
  /(?<![\w~.])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![\w~-])/g,
  /(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}(?![\w-])/g,
  /(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[a-f0-9]{64}(?![\w-])/g,
  /(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\w-])/g,
];

const CARD =
  /(?<![\w.,$#+-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\w-]|[.,]\d)|(?<![\w.,$#+-])3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?![\w-]|[.,]\d)/g;

const SHORT_WORDS = /(?<![A-Za-z])[a-z]{3,8}(?:[ \t\r\n,]{1,4}[a-z]{3,8}){11,}(?![A-Za-z])/g;
const MIN_PHRASE = 12;

/** Finds secrets without a name or prefix. */
export function findBareSecrets(text: string): Span[] {
  const spans: Span[] = SHAPES.flatMap((shape) => matches(text, shape));
  for (const { 0: found, 1: value = '', index } of text.matchAll(NAMED))
    if (/\d/.test(value) && entropyOf(value) >= MIN_NAMED_ENTROPY)
      spans.push({ start: index + found.length - value.length, end: index + found.length });
  for (const { 0: found, index } of text.matchAll(BARE))
    if (isMixed(found) && entropyOf(found) >= MIN_BARE_ENTROPY)
      spans.push({ start: index, end: index + found.length });
  for (const { 0: found, index } of text.matchAll(CARD))
    if (isCardNumber(found.replace(/\D/g, ''))) spans.push({ start: index, end: index + found.length });
  for (const { 0: found, index } of text.matchAll(SHORT_WORDS)) spans.push(...phrasesIn(found, index));
  return spans;
}

function matches(text: string, pattern: RegExp): Span[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

/** Upper case, lower case and digits: neither a hex hash nor a long word. */
function isMixed(text: string): boolean {
  return /[A-Z]/.test(text) && /[a-z]/.test(text) && /\d/.test(text);
}

/** Checks the Luhn digit. One in ten numbers passes, so the prefixes of card issuers are required too. */
function isCardNumber(digits: string): boolean {
  if (
    !/^(?:4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|4[4-9]\d|5\d{2})\d{12}|35\d{14})$/.test(
      digits,
    )
  )
    return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]) * (i % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

/** Finds wallet recovery phrases: twelve or more consecutive words from the list. */
function phrasesIn(words: string, offset: number): Span[] {
  const spans: Span[] = [];
  let run: Span[] = [];
  const endRun = (): void => {
    const [first, last] = [run[0], run.at(-1)];
    if (run.length >= MIN_PHRASE && first !== undefined && last !== undefined)
      spans.push({ start: first.start, end: last.end });
    run = [];
  };
  for (const { 0: word, index } of words.matchAll(/[a-z]+/g)) {
    if (!isMnemonicWord(word)) endRun();
    else run.push({ start: offset + index, end: offset + index + word.length });
  }
  endRun();
  return spans;
}

/** In bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
