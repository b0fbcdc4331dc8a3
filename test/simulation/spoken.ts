import type { ModelRequest } from '../../src/exports/models.ts';

/**
 * What people say in simulations. `m7@k3 | safe unsafe | safe` is message 7, in conversation 3, and asks for two tools
 * side by side, then for one, then for an answer. Names are unique, so that every sentence can be found again.
 */
export interface Spoken {
  readonly name: string;
  readonly plan: readonly (readonly string[])[];
}

const SPOKEN = /\b(m\d+@k\d+)((?: \|(?: (?:safe|unsafe))+)*)/g;
/** Begins the names an answer is for. */
export const ANSWERED = 'answer to';

export function say({ name, plan }: Spoken): string {
  return [name, ...plan.map((round) => round.join(' '))].join(' | ');
}

export function hear(text: string): Spoken[] {
  return [...text.matchAll(SPOKEN)].map(([, name = '', rounds = '']) => ({
    name,
    plan: rounds
      .split('|')
      .slice(1)
      .map((round) => round.trim().split(' ')),
  }));
}

/** The names a stored answer is for; none if it is no whole answer. */
export function answeredIn(text: string): string[] {
  const at = text.lastIndexOf(ANSWERED);
  return at < 0 ? [] : hear(text.slice(at)).map(({ name }) => name);
}

export interface HeardRequest {
  /** All messages that people sent to it. */
  readonly tokens: readonly string[];
  /** What no whole answer stands behind yet. */
  readonly unanswered: readonly string[];
  /** What the last message asks for, and how many rounds of it are done. */
  readonly plan: Spoken['plan'];
  readonly round: number;
}

export function readRequest({ messages }: ModelRequest): HeardRequest {
  const tokens: string[] = [];
  let unanswered: string[] = [];
  let plan: Spoken['plan'] = [];
  let round = 0;
  for (const message of messages) {
    if (message.role === 'tool') round++;
    else {
      const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
      if (message.role === 'assistant') {
        if (text.includes(ANSWERED)) unanswered = [];
        continue;
      }
      const spoken = hear(text);
      const names = spoken.map(({ name }) => name);
      tokens.push(...names);
      unanswered.push(...names);
      const last = spoken.at(-1);
      if (last === undefined) continue;
      plan = last.plan;
      round = 0;
    }
  }
  return { tokens, unanswered, plan, round };
}
