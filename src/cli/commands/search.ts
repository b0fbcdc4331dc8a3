import { RepriseError } from '../../errors.ts';
import { openBackend } from '../backend.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { escapeForTerminal, print, printPage, say, style } from '../print.ts';

/** `reprise search <text>` */
export async function search(text: string, options: Options): Promise<void> {
  if (text.trim() === '')
    throw new RepriseError('INVALID_INPUT', 'nothing to search for', {
      details: { next: 'Write: reprise search <text>' },
    });
  const limit = countOption('--limit', options['limit']) ?? 20;
  const seconds = countOption('--seconds', options['seconds']) ?? 5;
  const agentId = textOption(options['agent']);
  await using backend = await openBackend(options);
  const { hits, complete, names } = await backend.search({
    text,
    limit,
    budgetMs: seconds * 1000,
    ...(agentId !== undefined && { agentId }),
  });
  if (options['json'] === true) {
    const data = hits.map((hit) => ({ ...hit, name: names.get(hit.id) ?? '' }));
    printPage(data, {
      hasMore: !complete || hits.length === limit,
      lastId: hits.at(-1)?.id ?? null,
      complete,
    });
    return;
  }
  for (const { id, seq, snippet } of hits) {
    print(
      `${escapeForTerminal(names.get(id) ?? '')} ${style('dim', `(${escapeForTerminal(id)}, line ${seq})`)}`,
    );
    print(`     ${marked(snippet, text)}`);
  }
  if (hits.length === 0) say(`nothing holds "${escapeForTerminal(text)}"`);
  if (!complete) say('the time was over before everything was looked at; --seconds 60 looks longer');
  else if (hits.length === limit) say('there may be more; --limit shows them');
}

/** One line, with what was looked for in it. */
function marked(snippet: string, text: string): string {
  const line = snippet.replace(/\s+/g, ' ').trim();
  const at = line.toLowerCase().indexOf(text.toLowerCase());
  if (at === -1) return escapeForTerminal(line);
  const end = at + text.length;
  return (
    escapeForTerminal(line.slice(0, at)) +
    style('bold', escapeForTerminal(line.slice(at, end))) +
    escapeForTerminal(line.slice(end))
  );
}
