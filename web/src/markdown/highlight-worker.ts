import { highlight } from './highlight.ts';

/** Answers each piece of code with its colors; see coloring.ts. */
addEventListener(
  'message',
  ({ data }: MessageEvent<{ readonly code: string; readonly language: string }>) => {
    postMessage({ colored: highlight(data.code, data.language) });
  },
);
postMessage('ready');
