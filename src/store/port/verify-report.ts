export type VerifyStatus = 'clean' | 'quarantined' | 'corrupt';

export interface VerifyFinding {
  readonly session: string;
  readonly offset: number;
  readonly kind: string;
  readonly detail: string;
}

export interface VerifyOptions {
  /** Called from time to time with the number of sessions read and the total. Not called for a single session. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface VerifyReport {
  readonly status: VerifyStatus;
  readonly findings: readonly VerifyFinding[];
}
