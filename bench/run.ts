/** `npm run bench`: every row is a ratio of two arms of the same run, so a busy machine does not change the verdict. */
import { markdown } from './measure.ts';
import { transcriptRows } from './transcript.ts';

console.log(markdown(transcriptRows()));
