/** Limits of one record. `JSON.stringify` fails near depth 10,000, so nothing that deep may be stored. */
export interface RecordLimits {
  readonly maxRecordBytes: number;
  readonly maxDepth: number;
}

export const DEFAULT_RECORD_LIMITS: RecordLimits = { maxRecordBytes: 16 * 1024 * 1024, maxDepth: 256 };
