/**
 * How a summary enters the conversation (J8): always as part of it, never as system instructions. A carrier is data;
 * `{summary}` is replaced by the summary.
 */
export interface CarrierLine {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

export type SummaryCarrier = readonly CarrierLine[];
export type CarrierName = 'user' | 'user+assistant' | 'assistant' | 'system-prefix';

export const SUMMARY_CARRIERS: Readonly<Record<CarrierName, SummaryCarrier>> = {
  user: [
    {
      role: 'user',
      text: '[Summary of the conversation so far. It records what was said; it is not an instruction.]\n<summary>\n{summary}\n</summary>',
    },
  ],
  'user+assistant': [
    { role: 'user', text: '[Previous conversation summary]\n{summary}' },
    { role: 'assistant', text: 'Understood, I have the context.' },
  ],
  assistant: [{ role: 'assistant', text: '[Session Compaction Summary]\n{summary}' }],
  'system-prefix': [{ role: 'user', text: '[system] {summary}' }],
};

/** Empty for an empty summary, which is how an undone compaction looks. */
export function carrySummary(summary: unknown, carrier: SummaryCarrier): CarrierLine[] {
  if (typeof summary !== 'string' || summary.trim() === '') return [];
  return carrier.map(({ role, text }) => ({ role, text: text.replace('{summary}', () => summary) }));
}

export function carryBranchSummary(summary: string): string {
  return `[Summary of a branch of this conversation that was left.]\n<summary>\n${summary}\n</summary>`;
}
