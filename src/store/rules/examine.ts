import { blobNames } from '../../transcript/blobs.ts';
import { createTranscriptChecker } from '../../transcript/check.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import type { VerifyFinding } from '../port/verify-report.ts';

export interface SessionExaminer {
  /** Bytes of the session in their order. */
  readonly push: (chunk: Uint8Array) => void;
  /** With what should have been there. */
  finish(expected: { readonly lines: number; readonly bytes: number }): SessionExamination;
}

export interface SessionExamination {
  readonly findings: readonly VerifyFinding[];
  /** Names of those its lines need; unset where there was nothing to read. */
  readonly blobs?: ReadonlySet<string>;
}

/** Reads what is stored of a session and believes none of it. */
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

/** One transcript stands where another should: what was said in the other is gone from there. */
export function otherSession(id: string, named: string): VerifyFinding {
  return finding(id, 'other-session', `the transcript is that of another session, ${named}`);
}

/** A file that no session has, of one that has its own: nothing of it is lost by that. */
export function strayCopy(name: string, named: string): VerifyFinding {
  return finding(name, 'stray-copy', `a copy of the transcript of ${named}, which is no session of its own`);
}

/** What healing a cut transcript left as a note. */
function lostLines(id: string, { customType, data, timestamp }: Entry): VerifyFinding[] {
  if (customType !== 'reprise.lost' || !isObject(data)) return [];
  const { firstSeq, lastSeq, reason } = data;
  const detail = `lines ${String(firstSeq)} to ${String(lastSeq)} were ${String(reason)}, noticed ${timestamp}`;
  return [finding(id, 'lost-lines', detail)];
}
