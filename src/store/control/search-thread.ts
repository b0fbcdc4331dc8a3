import { searchWork } from './search-work.ts';
import { runAsThread } from './thread-talk.ts';

runAsThread(searchWork);
