import { blobNames } from '../../transcript/blobs.ts';
import { createTranscriptChecker } from '../../transcript/check.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import type { VerifyFinding } from '../port/verify-report.ts';

export interface SessionExaminer {
  /** Takes the bytes of the session in order. */
  readonly push: (chunk: Uint8Array) => void;
  /** Called at the end with the expected number of lines and bytes. */
  finish(expected: { readonly lines: number; readonly bytes: number }): SessionExamination;
}

export interface SessionExamination {
  readonly findings: readonly VerifyFinding[];
  /** Names of the blobs that the lines reference; unset if no line was readable. */
  readonly blobs?: ReadonlySet<string>;
}

/** Checks the stored bytes of a session without trusting any of them. */
export function examineSession(id: string): SessionExaminer {
  const lost: VerifyFinding[] = [];
  const blobs = new Set<string>();
  const checker = createTranscriptChecker({ sessionId: id }, (entry) => {
    lost.push(...lostLines(id, entry));
    for (const name of blobNames([entry])) blobs.add(name);
  });
  return {
    push: (chunk) => checker.push(chunk),
    finish(expected) {
      const { issues, entries, sealed, recognised, headerId } = checker.finish();
      if (!recognised) {
        const detail = `nothing is left of the transcript and its ${expected.lines} lines`;
        return { findings: [finding(id, 'missing-lines', detail)] };
      }
      const findings = issues.examples
        .filter(({ kind }) => kind !== 'foreign-line' && kind !== 'inexact-number')
        .map(({ kind, offset = 0, detail }) => finding(id, kind, detail, offset));
      findings.push(...lost);
      if (headerId !== undefined && headerId !== id) findings.push(otherSession(id, headerId));
      if (!sealed) findings.push(finding(id, 'corrupt', 'the header is not sealed'));
      if (entries + 1 < expected.lines) {
        const detail = `${expected.lines - 1 - entries} of ${expected.lines} lines are missing`;
        findings.push(finding(id, 'missing-lines', detail, expected.bytes));
      }
      return { findings, blobs };
    },
  };
}

export function finding(session: string, kind: string, detail: string, offset = 0): VerifyFinding {
  return { session, offset, kind, detail };
}

/** The file of one session has the transcript of another: its own messages are missing there. */
export function otherSession(id: string, named: string): VerifyFinding {
  return finding(id, 'other-session', `the transcript is that of another session, ${named}`);
}

/** A file without a session that copies the transcript of another session; nothing is lost. */
export function strayCopy(name: string, named: string): VerifyFinding {
  return finding(name, 'stray-copy', `a copy of the transcript of ${named}; no session has this name`);
}

/** The lost lines that a repair of a cut transcript has recorded. */
function lostLines(id: string, { customType, data, timestamp }: Entry): VerifyFinding[] {
  if (customType !== 'reprise.lost' || !isObject(data)) return [];
  const { firstSeq, lastSeq, reason } = data;
  const detail = `lines ${String(firstSeq)} to ${String(lastSeq)} were ${String(reason)}, noticed ${timestamp}`;
  return [finding(id, 'lost-lines', detail)];
}
