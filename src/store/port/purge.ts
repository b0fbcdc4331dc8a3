import type { ChangeOptions } from './store.ts';

export interface PurgeOptions extends ChangeOptions {
  /** Keep the session's lines in the channel log. */
  readonly keepChannelLog?: boolean;
  /** Also remove the files that the receipt would name. */
  readonly removeFiles?: boolean;
}

export interface PurgeReceipt {
  /**
   * Files that were set aside whole (a damaged database, say) and name this session. They may hold its text, and have
   * data of other sessions too, so they stay unless `removeFiles` is set.
   */
  readonly files: readonly string[];
}
