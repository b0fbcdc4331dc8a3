import { createReadStream } from 'node:fs';
import { readTranscript, rebuildHistory } from 'reprise/transcript';

const [file = 'examples/transcripts/claw0.jsonl'] = process.argv.slice(2);
const { entries, issues } = await readTranscript(createReadStream(file));
for (const [kind, count] of issues.counts) console.error(`${count} x ${kind}`);

const messages = rebuildHistory(entries, { format: 'anthropic' });
for (const { role, content } of messages) console.log(role, JSON.stringify(content));
