/** A node of which only the part that indexes is there, in a process that can be killed. Its argument is the URL. */

import { SearchIndexer } from '../../../src/store/postgres/search/search-indexer.ts';
import { nodeOn } from './postgres-node.ts';

const [url = ''] = process.argv.slice(2);
new SearchIndexer({ context: nodeOn(url), pauseMs: 0, claimMs: 1_000 });
// Nothing else keeps this process alive; it ends when it is killed, or when who started it is gone.
process.stdin.resume();
