import type { Entry } from '../../../transcript/entry.ts';
import { planMerge } from '../../../transcript/merge/merge-plan.ts';
import { readMessages } from '../../../transcript/merge/read-messages.ts';
import { carrySummary, SUMMARY_CARRIERS } from '../../../transcript/render/carrier.ts';
import { IMPORTERS } from '../../import/importers.ts';
import { readTranscriptFile } from '../../import/transcript-file.ts';
import type { SessionDocument } from '../../session-document.ts';
import { seedHistory } from '../seed-messages.ts';
import { blocksOf } from './claude-code.ts';
import type { ClientSession } from './client-export.ts';
import { type ClientName, callFor } from './tool-names.ts';

/** Reads a written file with the importer of its agent. @returns how many messages of the conversation it misses. */
export async function checkClientFile(
  document: SessionDocument,
  { full }: ClientSession,
  { client, file }: { readonly client: ClientName; readonly file: string },
): Promise<number> {
  const { summary, kept, after } = seedHistory(document.entries, full);
  const wanted = [...kept, ...after].map(({ message }) => ({
    ...message,
    content: blocksOf(message).map((block) =>
      block.type === 'tool_use' ? { ...block, ...callFor(client, block.name, block.input) } : block,
    ),
  }));
  const entries = await readEntries(client, file);
  const summed = carrySummary(summary?.text, SUMMARY_CARRIERS.user).map(({ role, text }) => ({
    role,
    content: text,
  }));
  return planMerge(entries, readMessages([...summed, ...wanted], 'anthropic')).messages.length;
}

async function readEntries(client: ClientName, file: string): Promise<readonly Entry[]> {
  // A single file of pi is a transcript like ours.
  if (client === 'pi') return (await readTranscriptFile(file, { mayBeEmpty: true })).entries;
  const source = await IMPORTERS.find(({ tool }) => tool === client)?.list(file);
  return (await source?.sessions[0]?.read())?.entries ?? [];
}
