import { fileURLToPath } from 'node:url';
import { homeOf } from '../home.ts';
import { say } from '../print.ts';
import { show } from './show.ts';

const SAMPLE = 'examples/transcripts/claw0.jsonl';

/** `reprise` without a command: one real transcript, then what to type next. */
export async function tour(): Promise<void> {
  say(`Reprise reads the histories of AI agents. This is ${SAMPLE}, written by another tool:\n`);
  await show(fileURLToPath(new URL(`../../../${SAMPLE}`, import.meta.url)), {});
  const { path } = homeOf({});
  say(`
Sessions of your own will live in ${path} (REPRISE_HOME or --home choose another place).
Try next:
  reprise show ${SAMPLE} --json --format anthropic
  reprise show <your file>.jsonl
  reprise --help
(in a checkout, write "npm start --" for "reprise")`);
}
