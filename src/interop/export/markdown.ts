import type { SessionDocument } from '../session-document.ts';
import { codeBlock, codeSpan, escapeInline, escapeMarkdown } from './escape.ts';
import { firstWords, type StoryItem, type StoryPart, storyOf } from './story.ts';

/** A readable text. The original messages of a compaction are quoted below its summary. */
export function* toMarkdown(document: SessionDocument): Generator<string> {
  const { id, key, createdAt, lastAt } = document;
  const facts = [`session ${codeSpan(id)}`, codeSpan(key), `${codeSpan(createdAt)} to ${codeSpan(lastAt)}`];
  yield `# ${escapeInline(firstWords(document))}\n\n${facts.join(' · ')}\n`;
  for (const item of storyOf(document)) yield `\n${itemLines(item).join('\n')}\n`;
}

function itemLines(item: StoryItem): string[] {
  switch (item.kind) {
    case 'note':
      return [`*${escapeInline(item.text)}*`];
    case 'message': {
      const by = item.model === '' ? '' : ` · ${codeSpan(item.model)}`;
      const head = `## ${escapeInline(item.who)} · ${codeSpan(item.at)}${by}`;
      return [head, '', ...item.parts.flatMap((part) => [...partLines(part), ''])].slice(0, -1);
    }
    case 'rule': {
      const { summary, originals, at } = item;
      const count = originals.filter(({ kind }) => kind === 'message').length;
      const head = `*${count} messages compacted at ${codeSpan(at)}:*`;
      const quoted = originals.flatMap((each) => ['', ...itemLines(each)]).map((line) => quote(line));
      return ['---', '', head, '', escapeMarkdown(summary), ...quoted, '', '---'];
    }
  }
}

function partLines(part: StoryPart): string[] {
  switch (part.kind) {
    case 'text':
      return [escapeMarkdown(part.text)];
    case 'thinking':
      return ['*thinking:*', '', codeBlock(part.text)];
    case 'image':
      return [`*image, ${escapeInline(part.mimeType)}*`];
    case 'call': {
      const lines = [`*calls ${escapeInline(part.name)}:*`, '', codeBlock(part.input, 'json'), ''];
      if (part.result === undefined) return [...lines, '*no result*'];
      return [...lines, part.isError ? '*failed:*' : '*result:*', '', ...part.result.flatMap(resultLines)];
    }
  }
}

function resultLines(part: StoryPart): string[] {
  return part.kind === 'text' ? [codeBlock(part.text)] : partLines(part);
}

function quote(lines: string): string {
  return lines
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');
}
