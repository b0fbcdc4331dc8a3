/** One rule of a provider that a request breaks. */
export interface Violation {
  /** Short and stable; the same idea has the same id for every provider. */
  readonly rule: string;
  /** Where in the request, e.g. `messages[3].content[1]`. */
  readonly at: string;
  readonly message: string;
}

export type Report = (rule: string, at: string, message: string) => void;

/** What every provider asks of a request before it looks at a single message: that there is one. */
export function judgeRequest(
  messages: readonly unknown[],
  judge: (list: readonly unknown[], report: Report) => void,
): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (rule, at, message) => {
    violations.push({ rule, at, message });
  };
  // The type promises an array, but these judge what a program is about to send, and it may have lost that promise.
  if (!Array.isArray(messages)) report('shape', 'messages', 'messages is not a list');
  else if (messages.length === 0) report('empty-request', 'messages', 'a request needs at least one message');
  else judge(messages, report);
  return violations;
}
