import type { ContextAnswer } from 'reprise/client';

export interface ContextPart {
  readonly name: string;
  readonly tokens: number;
  /** Of the window, in percent. */
  readonly share: number;
}

/** The split as stretches of a bar; together never longer than the bar, whatever the estimates say. */
export function contextParts({ split, window, budget, tokens }: ContextAnswer): {
  readonly parts: readonly ContextPart[];
  readonly mark: number;
} {
  const whole = Math.max(1, window.tokens);
  const named = Object.entries(split).filter(([, part]) => part > 0);
  const sum = named.reduce((all, [, part]) => all + part, 0);
  // The split is of the estimate; the total may be one the model has corrected.
  const scale = sum === 0 ? 0 : tokens / sum;
  const fit = Math.min(1, whole / Math.max(1, sum * scale));
  const parts = named.map(([name, part]) => ({
    name,
    tokens: Math.round(part * scale),
    share: (part * scale * fit * 100) / whole,
  }));
  return { parts, mark: Math.min(100, (budget * 100) / whole) };
}
