/** A provider's rule that a request breaks. */
export interface Violation {
  /** Short and stable; the same rule has the same id for every provider. */
  readonly rule: string;
  /** Position in the request, such as `messages[3].content[1]`. */
  readonly at: string;
  readonly message: string;
}

export type Report = (rule: string, at: string, message: string) => void;

/** What every provider requires before it reads a message: a non-empty list. */
export function judgeRequest(
  messages: readonly unknown[],
  judge: (list: readonly unknown[], report: Report) => void,
): Violation[] {
  const violations: Violation[] = [];
  const report: Report = (rule, at, message) => {
    violations.push({ rule, at, message });
  };
  // The type promises an array, but the request may come from code without types.
  if (!Array.isArray(messages)) report('shape', 'messages', 'messages is not a list');
  else if (messages.length === 0) report('empty-request', 'messages', 'a request needs at least one message');
  else judge(messages, report);
  return violations;
}
