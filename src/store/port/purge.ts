import type { ChangeOptions } from './store.ts';

export interface PurgeOptions extends ChangeOptions {
  /** Keep the session's lines in the channel log. */
  readonly keepChannelLog?: boolean;
  /** Also remove the files that the receipt would list. */
  readonly removeFiles?: boolean;
}

export interface PurgeReceipt {
  /**
   * Whole files that were set aside earlier (for example a damaged database) and that mention this session. They may
   * contain its text, but also data of other sessions, so the purge leaves them unless `removeFiles` is set.
   */
  readonly files: readonly string[];
}
