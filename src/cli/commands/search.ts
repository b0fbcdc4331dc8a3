import { type PositionedHit, searchGap } from '../../engine/admin/found-sessions.ts';
import { messageText } from '../../messages/english.ts';
import { failure } from '../../messages/failure.ts';
import type { SearchHit, SearchQuery } from '../../store/port/search.ts';
import { openBackend } from '../backend/backend.ts';
import { countOption, type Options, textOption } from '../options.ts';
import { asStarted } from '../started-as.ts';
import { escapeForTerminal, print, printPage, say, style } from '../terminal/print.ts';

/** `reprise search <text>` */
export async function search(text: string, options: Options): Promise<void> {
  if (text.trim() === '') throw failure('INVALID_INPUT', 'cli.noSearchText');
  const isRemote = textOption(options['url']) !== undefined;
  if (isRemote && options['seconds'] !== undefined)
    throw failure('INVALID_INPUT', 'cli.homeOnly', { option: '--seconds' });
  const ref = textOption(options['session']);
  await using backend = await openBackend(options);
  const inSession = ref === undefined ? {} : { sessionId: (await backend.find(ref)).id };
  const { names, ...found } = await backend.search({ ...queryOf(text, options), ...inSession });
  const { hits, next, complete, reason, index } = found;
  if (options['json'] === true) {
    const data = hits.map((hit) => ({ ...hit, name: names.get(hit.id) ?? '', show: showing(hit) }));
    printPage(data, {
      hasMore: next !== null || !complete,
      lastId: hits.at(-1)?.id ?? null,
      ...{ next, complete, reason, index },
    });
    return;
  }
  for (const hit of hits) {
    const { id, seq, position, role, at } = hit;
    const where = position === undefined ? `line ${seq}` : `#${position}`;
    const place = `(${escapeForTerminal(id)}, ${where})  ${role}, ${at.slice(0, 16).replace('T', ' ')}`;
    print(`${escapeForTerminal(names.get(id) ?? '')} ${style('dim', place)}`);
    print(`     ${marked(hit)}`);
  }
  const [first] = hits;
  if (first === undefined) say(`no message contains "${escapeForTerminal(text)}"`);
  else say(style('dim', `to read the messages around the first hit: ${showing(first)}`));
  const gap = searchGap(found);
  const widen = isRemote
    ? 'Search again later, or narrow the search with --session or --agent.'
    : 'Give it more time: --seconds 60. "reprise doctor" reports how far the index is.';
  if (gap !== undefined) say(`${messageText(gap)} ${widen}`);
  if (next !== null) say(`more hits: raise --limit, or continue with --after ${next}`);
}

function queryOf(text: string, options: Options): SearchQuery {
  const agentId = textOption(options['agent']);
  const channel = textOption(options['channel']);
  const after = textOption(options['after']);
  return {
    text,
    limit: countOption('--limit', options['limit']) ?? 20,
    budgetMs: (countOption('--seconds', options['seconds']) ?? 5) * 1000,
    ...(agentId !== undefined && { agentId }),
    ...(channel !== undefined && { channel }),
    ...(after !== undefined && { after }),
  };
}

/** The command that shows the hit in its session. A shell reads an unquoted # as a comment. */
function showing({ id, seq, position }: PositionedHit): string {
  return asStarted(`reprise show ${id} --at ${position === undefined ? seq : `'#${position}'`}`);
}

/** The snippet with what was looked for in it. */
function marked({ snippet, marks }: SearchHit): string {
  let line = '';
  let done = 0;
  for (const [from, to] of marks) {
    line += escapeForTerminal(snippet.slice(done, from));
    line += style(['bold', 'yellow'], escapeForTerminal(snippet.slice(from, to)));
    done = to;
  }
  return (line + escapeForTerminal(snippet.slice(done))).trim();
}
