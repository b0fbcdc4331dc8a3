import type { SpokenEntry } from './speak.ts';

/** How many facts of the covered part a summary still contains, and which it lost. */
export interface RecallReport {
  readonly total: number;
  readonly found: number;
  /** Verbatim, most important first, at most `MAX_LISTED`. */
  readonly missing: readonly string[];
  /** Number of missing facts that `missing` does not list. */
  readonly unlisted: number;
}

const MAX_LISTED = 40;
const MAX_FACTS = 400;
const MAX_FACT_CHARS = 200;
const MAX_SCAN_CHARS = 2_000_000;

/**
 * Facts that a model cannot guess again: paths, links, identifiers, numbers, and unanswered questions. Every pattern
 * is linear: no nested repetition, bounded lengths.
 */
const PATTERNS: readonly { readonly kind: FactKind; readonly pattern: RegExp }[] = [
  { kind: 'link', pattern: /https?:\/\/[^\s"'<>()[\]{}|\\^`]{3,180}/g },
  { kind: 'path', pattern: /(?:~|\.{1,2})?\/[\w.@+-]{1,80}(?:\/[\w.@+-]{1,80}){0,20}/g },
  {
    kind: 'path',
    pattern:
      /\b[\w-]{1,60}\.(?:[cm]?[jt]sx?|json|md|py|go|rs|java|rb|sh|toml|ya?ml|sql|html|css|txt|csv|log|env|lock)\b/g,
  },
  { kind: 'code', pattern: /`([^`\n]{2,120})`/g },
  {
    kind: 'identifier',
    pattern:
      /\b(?=[\w-]{6,64}\b)(?=[\w-]{0,63}\d)(?=[\w-]{0,63}[A-Za-z])[A-Za-z0-9][\w-]{4,62}[A-Za-z0-9]\b/g,
  },
  { kind: 'identifier', pattern: /\b[A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,60}\b/g },
  { kind: 'number', pattern: /\b\d{1,3}(?:[.,:]\d{1,6}){1,6}\b|\b\d{3,20}\b/g },
];

type FactKind = 'ask' | 'path' | 'link' | 'code' | 'identifier' | 'number';

const WEIGHT: Readonly<Record<FactKind, number>> = {
  ask: 0,
  path: 1,
  link: 2,
  identifier: 3,
  code: 4,
  number: 5,
};

export interface Fact {
  readonly kind: FactKind;
  readonly text: string;
}

/** Facts from messages and tool results, each once; those of a user come before those of a tool. */
export function findFacts(spoken: readonly SpokenEntry[]): Fact[] {
  const facts = new Map<string, Fact & { readonly said: boolean; readonly order: number }>();
  let scanned = 0;
  for (const { speaker, text } of spoken) {
    const part = text.slice(0, Math.max(0, MAX_SCAN_CHARS - scanned));
    scanned += part.length;
    for (const { kind, pattern } of PATTERNS) {
      for (const match of part.matchAll(pattern)) {
        const fact = (match[1] ?? match[0]).replace(/[.,:;]+$/, '');
        if (fact.length < 2 || fact.length > MAX_FACT_CHARS) continue;
        const known = facts.get(fact);
        const said = speaker !== 'tool';
        if (known === undefined) facts.set(fact, { kind, text: fact, said, order: facts.size });
        else if (said && !known.said) facts.set(fact, { ...known, said });
      }
    }
  }
  const ranked = [...facts.values()].sort(
    (a, b) => Number(b.said) - Number(a.said) || WEIGHT[a.kind] - WEIGHT[b.kind] || a.order - b.order,
  );
  return [...openAsks(spoken), ...ranked].slice(0, MAX_FACTS).map(({ kind, text }) => ({ kind, text }));
}

/** The last questions of a user before the cut, which may still be open. */
function openAsks(spoken: readonly SpokenEntry[]): Fact[] {
  const asks: Fact[] = [];
  for (const { speaker, text } of spoken) {
    if (speaker !== 'user') continue;
    for (const ask of questionsIn(text.slice(0, 4000))) asks.push({ kind: 'ask', text: ask });
  }
  return asks.slice(-10);
}

const SENTENCE_ENDS = /[.!?。！？\n]/g;
const [MIN_ASK, MAX_ASK] = [4, 180];

/** Splits into sentences first: a pattern for whole questions would restart at every letter of a text without any. */
function* questionsIn(text: string): Generator<string> {
  let begin = 0;
  for (const { 0: mark, index } of text.matchAll(SENTENCE_ENDS)) {
    const isAsk = (mark === '?' || mark === '？') && index - begin >= MIN_ASK;
    if (isAsk) yield text.slice(Math.max(begin, index - MAX_ASK), index + 1).trim();
    begin = index + 1;
  }
}

/** Compares without regard to case and white space; everything else must match exactly. */
export function recallReport(facts: readonly Fact[], summary: string): RecallReport {
  const haystack = fold(summary);
  const missing = facts.filter(({ text }) => !haystack.includes(fold(text)));
  return {
    total: facts.length,
    found: facts.length - missing.length,
    missing: missing.slice(0, MAX_LISTED).map(({ text }) => text),
    unlisted: Math.max(0, missing.length - MAX_LISTED),
  };
}

/** Appends the missing facts to a summary, so that they are not lost. */
export function appendMisses(summary: string, { missing, unlisted }: RecallReport): string {
  if (missing.length === 0) return summary;
  const more = unlisted > 0 ? `\n- and ${unlisted} more in the history` : '';
  return `${summary.trimEnd()}\n\n## Also named, verbatim\n${missing.map((text) => `- ${text}`).join('\n')}${more}`;
}

function fold(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ');
}
