import { storageWork } from './storage-work.ts';
import { runAsThread } from './thread-talk.ts';

runAsThread(storageWork);
