export interface Picture {
  readonly data: string;
  readonly mimeType: string;
  readonly name: string;
}

/** A message on its way: shown until the history has it. */
export interface Pending {
  readonly key: string;
  readonly text: string;
  readonly images: readonly Picture[];
  /** The message in whose place it is said. */
  readonly before?: string;
  /** What that one led to is not shown any more. */
  readonly isPlaced?: boolean;
  readonly state: 'sending' | 'waiting' | 'running' | 'failed';
  readonly inboxId?: string;
  readonly error?: string;
}

export function changePending(
  list: readonly Pending[],
  key: string,
  change: Partial<Omit<Pending, 'key'>>,
): readonly Pending[] {
  return list.map((one) => (one.key === key ? { ...one, ...change } : one));
}
