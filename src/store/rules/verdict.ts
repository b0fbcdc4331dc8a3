import type { VerifyFinding, VerifyStatus } from '../port/verify-report.ts';

/** Kinds of findings that mean content is lost or cannot be read. */
const DAMAGE: ReadonlySet<string> = new Set([
  'corrupt',
  'missing-lines',
  'not-a-file',
  'other-session',
  'damaged-log',
  'newer-version',
  'missing-blob',
  'corrupt-blob',
]);
/** Kinds of findings that need no action. */
const HARMLESS: ReadonlySet<string> = new Set(['stray-blob', 'stray-copy']);

export function verdict(findings: readonly VerifyFinding[]): VerifyStatus {
  if (findings.some(({ kind }) => DAMAGE.has(kind))) return 'corrupt';
  return findings.some(({ kind }) => !HARMLESS.has(kind)) ? 'quarantined' : 'clean';
}
