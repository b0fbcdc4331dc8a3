import { searchWork } from '../search/search-work.ts';
import { runAsThread } from './thread-talk.ts';

runAsThread(searchWork);
