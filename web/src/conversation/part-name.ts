import { type StringName, t } from '../i18n/strings.ts';

const WORDS: Readonly<Record<string, StringName>> = {
  system: 'partSystem',
  tools: 'partTools',
  summary: 'partSummary',
  history: 'partHistory',
  newest: 'partNewest',
  overhead: 'partOverhead',
};

/** What people call a part of the context; one a newer server tells of has its own name. */
export function partName(name: string): string {
  const word = WORDS[name];
  return word === undefined ? name : t(word);
}
