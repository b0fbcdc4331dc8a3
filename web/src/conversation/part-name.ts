import { type StringName, t } from '../i18n/strings.ts';

const WORDS: Readonly<Record<string, StringName>> = {
  system: 'partSystem',
  tools: 'partTools',
  summary: 'partSummary',
  history: 'partHistory',
  newest: 'partNewest',
  overhead: 'partOverhead',
  margin: 'partMargin',
};

/** The label of a part of the context. An unknown part, from a newer server, keeps its name. */
export function partName(name: string): string {
  const word = WORDS[name];
  return word === undefined ? name : t(word);
}
