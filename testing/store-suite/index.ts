import { appendCases } from './append.ts';
import { blobCases } from './blobs.ts';
import { exportCases } from './copy/export.ts';
import { transferCases } from './copy/transfer.ts';
import { createCases } from './create.ts';
import { deleteCases } from './delete.ts';
import { inboxAppendCases } from './inbox/inbox-append.ts';
import { queueCases } from './inbox/inbox-queue.ts';
import { receiveCases } from './inbox/inbox-receive.ts';
import { resetCases } from './inbox/inbox-reset.ts';
import { runCases } from './inbox/inbox-run.ts';
import { keyCases } from './keys.ts';
import { leafCases } from './leaf.ts';
import { leaseCases } from './leases.ts';
import { lifecycleCases } from './lifecycle.ts';
import { convlogCases } from './lists/convlog.ts';
import { convlogListCases } from './lists/convlog-list.ts';
import { listCases } from './lists/list.ts';
import { listSortCases } from './lists/list-sort.ts';
import { noteCases } from './lists/notes.ts';
import { searchCases } from './lists/search.ts';
import { searchPageCases } from './lists/search-pages.ts';
import { tokenCases } from './lists/tokens.ts';
import { liveCases } from './live.ts';
import { longNameCases } from './long-names.ts';
import { readCases } from './read.ts';
import { refusalCases } from './refusals.ts';
import { seenCases } from './seen.ts';
import { settingsCases } from './settings.ts';
import { sourceCases } from './sources.ts';
import type { StoreCase } from './store-case.ts';
import { tailCases } from './tail.ts';
import { turnCases } from './turns.ts';
import { watchCases } from './watch.ts';

export {
  runStoreCase,
  type StoreArea,
  type StoreCase,
  type StoreCaseOptions,
  type StoreUnderTest,
} from './store-case.ts';

/** Cases that every store must pass: `for (const c of storeCases) test(c.name, () => runStoreCase(c, open))`. */
export const storeCases: readonly StoreCase[] = [
  ...createCases,
  ...appendCases,
  ...refusalCases,
  ...keyCases,
  ...longNameCases,
  ...leafCases,
  ...leaseCases,
  ...receiveCases,
  ...resetCases,
  ...queueCases,
  ...runCases,
  ...inboxAppendCases,
  ...turnCases,
  ...readCases,
  ...tailCases,
  ...searchCases,
  ...searchPageCases,
  ...watchCases,
  ...liveCases,
  ...listCases,
  ...listSortCases,
  ...settingsCases,
  ...seenCases,
  ...deleteCases,
  ...lifecycleCases,
  ...exportCases,
  ...blobCases,
  ...convlogCases,
  ...convlogListCases,
  ...tokenCases,
  ...noteCases,
  ...sourceCases,
  ...transferCases,
];
