export type VerifyStatus = 'clean' | 'quarantined' | 'corrupt';

export interface VerifyFinding {
  readonly session: string;
  readonly offset: number;
  readonly kind: string;
  readonly detail: string;
}

export interface VerifyOptions {
  /** Called now and then with the number of sessions read and of all; not called for one session. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface VerifyReport {
  readonly status: VerifyStatus;
  readonly findings: readonly VerifyFinding[];
}
