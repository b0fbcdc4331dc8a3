export interface Picture {
  readonly data: string;
  readonly mimeType: string;
  readonly name: string;
}

/** A message being sent or answered, shown until the history contains it. */
export interface Pending {
  readonly key: string;
  readonly text: string;
  readonly images: readonly Picture[];
  /** The message it replaces. */
  readonly before?: string;
  /** The messages after the replaced one were removed from view. */
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
