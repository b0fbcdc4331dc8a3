import { appendCases } from './append.ts';
import { blobCases } from './blobs.ts';
import { convlogCases } from './convlog.ts';
import { convlogListCases } from './convlog-list.ts';
import { createCases } from './create.ts';
import { deleteCases } from './delete.ts';
import { exportCases } from './export.ts';
import { inboxAppendCases } from './inbox-append.ts';
import { queueCases } from './inbox-queue.ts';
import { receiveCases } from './inbox-receive.ts';
import { resetCases } from './inbox-reset.ts';
import { runCases } from './inbox-run.ts';
import { keyCases } from './keys.ts';
import { leafCases } from './leaf.ts';
import { leaseCases } from './leases.ts';
import { lifecycleCases } from './lifecycle.ts';
import { listCases } from './list.ts';
import { listSortCases } from './list-sort.ts';
import { liveCases } from './live.ts';
import { longNameCases } from './long-names.ts';
import { noteCases } from './notes.ts';
import { readCases } from './read.ts';
import { refusalCases } from './refusals.ts';
import { searchCases } from './search.ts';
import { searchPageCases } from './search-pages.ts';
import { seenCases } from './seen.ts';
import { settingsCases } from './settings.ts';
import type { StoreCase } from './store-case.ts';
import { tailCases } from './tail.ts';
import { transferCases } from './transfer.ts';
import { watchCases } from './watch.ts';

export {
  runStoreCase,
  type StoreArea,
  type StoreCase,
  type StoreCaseOptions,
  type StoreUnderTest,
} from './store-case.ts';

/** What every store promises: `for (const c of storeCases) test(c.name, () => runStoreCase(c, open))`. */
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
  ...noteCases,
  ...transferCases,
];
