import { ago, count, counted } from '../english-format.ts';
import type { MessageTable } from '../message.ts';
import type {
  CacheBreak,
  CommandGroup,
  CommandMessages,
  CommandName,
  ContextPart,
  HelpTopic,
  SessionFacts,
} from '../params/params-commands.ts';

const HELP: Readonly<Record<HelpTopic, string>> = {
  new: 'start a new session; the current one stays in the list',
  history: 'the last messages, with the positions that other commands take',
  tree: 'all branches; * marks the current one',
  undo: 'undo the last turn, compaction or reset',
  redo: 'redo what /undo reversed',
  retry: 'ask the model again; the old answer stays as a branch',
  edit: 'replace your last message; the old one stays as a branch',
  stop: 'stop the turn, queued messages and subagents; the partial answer is saved',
  sessions: 'recent sessions; * marks the current one',
  switch:
    'continue in another session: its number in the last list, its id, name or key, or the start of one',
  fork: 'continue in a copy of this session, up to a message',
  delete: 'move a session to the trash, after a confirmation',
  search: 'find messages in all sessions by their words',
  repair: 'continue with the readable part of a damaged session',
  copy: 'copy the last answer to the clipboard',
  export: 'write the session to a file; .md, .html or .json selects the format',
  remoteExport: 'write the transcript to a local file with a name that ends in .jsonl',
  context: 'how full the context is, by part',
  compact: 'summarize older messages, preview that, or undo it',
  pin: 'send a message word for word in every context; without a message: list pinned messages',
  unpin: 'unpin a message',
  explain: 'what the model was sent in a turn, and why',
  rename: 'give this session a label',
  model: 'show or choose the model',
  queue: 'show or choose what happens to messages during a turn',
  status: 'this session at a glance',
  help: 'this list, or one of its commands',
  quit: 'leave; the session is saved',
};

const GROUPS: Readonly<Record<CommandGroup, string>> = {
  conversation: 'conversation',
  sessions: 'sessions',
  context: 'context',
  settings: 'settings',
  other: 'other',
};

const HELP_COLUMN = 36;
const AGE_COLUMN = 11;
const MESSAGES_COLUMN = 14;
const NAME_COLUMN = 32;

const PLACES = { terminal: 'in a terminal chat', owner: 'for the owner of the sessions', other: 'elsewhere' };

const NEEDS: Partial<Readonly<Record<CommandName, string>>> = {
  switch: 'a session',
  search: 'words to search for',
  rename: 'a label',
  edit: 'the new text',
  unpin: 'a message',
};

const CHOSEN_BY = {
  run: 'chosen with --model',
  session: 'chosen for this session',
  agent: 'configured for this agent',
  all: 'configured for all agents',
};

const CACHE_BREAKS: Readonly<Record<CacheBreak, string>> = {
  firstRequest: 'this is the first request',
  compaction: 'older messages were compacted',
  toolResults: 'tool results were shortened',
  stricter: 'the request was sent again by stricter rules',
  model: 'another model was chosen',
  historyTurns: 'the limit of history turns left out older messages',
  branch: 'the conversation continued on another branch',
};

export const ENGLISH_COMMANDS: Pick<MessageTable, keyof CommandMessages> = {
  text: ({ text }) => text,
  failed: ({ text, next }) => (next === null ? [text] : [text, next]),

  'help.group': ({ group }) => `${GROUPS[group]}:`,
  'help.command': ({ usage, about, aliases }) =>
    `  ${usage.padEnd(HELP_COLUMN)}  ${HELP[about]}${also(aliases)}`,
  'help.one': ({ usage, about, aliases }) => `${usage}: ${HELP[about]}${also(aliases)}`,
  'help.about': ({ about }) => HELP[about],
  'help.escape': () => 'Any other text is a message. // starts a message with one slash.',
  'help.keys': () =>
    [
      'keys:',
      '  Alt-Enter, or \\ at the end of a line   a new line in the message; a pasted text keeps its lines',
      '  @path                                 adds a text file or an image; Tab completes the path',
      '  Up while an answer streams            withdraws the newest queued message',
      '  Ctrl-C, Esc                           stops the answer; queued messages return to the input line',
      '  Ctrl-R, Up                            earlier input',
      '  Ctrl-D, or Ctrl-C twice               leaves',
    ].join('\n'),
  'help.noteLast': () =>
    'Not possible directly after a subagent result or another note (send a new message instead), or after a compaction or reset (/undo it first).',
  'help.ownerOnly': () =>
    'On a channel every sender can see it, but only the owner can change it, unless `session.senderCommands` names the command.',
  'command.unknown': ({ name, suggestion }) => [
    `there is no command /${name}`,
    `${suggestion === null ? '/help lists all commands.' : `Did you mean /${suggestion}?`} To send a message that starts with a slash, type two slashes.`,
  ],
  'command.notOne': () => [
    'a command starts with one slash',
    'Messages go to POST /api/agents/{agentId}/chat.',
  ],
  'command.unknownHere': ({ name }) => [`there is no command "${name}" here`, '/help lists all commands.'],
  'command.notHere': ({ name, place }) => [
    `/${name} works only ${PLACES[place]}`,
    '/help lists the commands that work here.',
  ],
  'command.ownerOnly': ({ name }) =>
    `Only the owner can change this with /${name}. The owner can allow it for every sender: session.senderCommands.`,
  'command.needsArgument': ({ name, usage }) => [
    `/${name} needs ${NEEDS[name as CommandName] ?? 'an argument'}`,
    `Write: ${usage}`,
  ],

  'session.new': ({ label }) =>
    `Started a new session${label === '' ? '' : `, "${label}"`}. The previous one is unchanged.`,
  'session.newOnChannel': () => 'Started a new session. The previous one is unchanged; /undo returns to it.',
  'session.here': (session) => `Already in ${inList(session)}.`,
  'session.switched': (session) => `Now in ${inList(session)}.`,
  'session.forked': ({ id }) => `Now in a copy of the session, ${id}. The original is unchanged.`,
  'session.renamed': ({ label }) => `Renamed this session to "${label}".`,
  'session.notDamaged': ({ name }) => `"${named(name)}" is not damaged.`,
  'session.repaired': ({ id, from, entries, damagedAt }) =>
    `Copied ${entries === 1 ? '1 readable entry' : `${count(entries)} readable entries`} of ${from} (damaged${damagedAt === null ? '' : ` at byte ${damagedAt}`}) to the new session ${id}. The damaged session is unchanged.`,
  'sessions.none': () => 'No sessions.',
  'sessions.noMatch': ({ filter }) => `No session name contains "${filter}".`,
  'sessions.row': ({ number, isCurrent, name, facts }) =>
    `${String(number).padStart(3)}${isCurrent ? '*' : ' '} ${ago(facts.minutesAgo).padEnd(AGE_COLUMN)} ${clip(named(name), NAME_COLUMN).padEnd(NAME_COLUMN)} ${(facts.messages === null ? '' : counted(facts.messages, 'message')).padStart(MESSAGES_COLUMN)}  ${shortId(facts.id)}${facts.isDamaged ? ' · damaged' : ''}`,
  'sessions.more': ({ sessions }) => `… ${count(sessions)} more`,
  'delete.question': ({ isCurrent, ...session }) =>
    `Move ${isCurrent ? 'the current session ' : ''}${inSentence(session)} to the trash?`,
  'delete.done': (session) => `Moved ${inSentence(session)} to the trash.`,
  'delete.nothing': () => 'Nothing was deleted.',
  'delete.needsConfirmation': (session) => [
    `deleting ${inSentence(session)} needs a confirmation that cannot be asked for here`,
    'Nothing was deleted.',
  ],
  'export.session': ({ name, messages }) => `"${named(name)}", ${counted(messages, 'message')}.`,
  'copy.done': ({ characters }) => `Copied the last answer (${counted(characters, 'character')}).`,
  'copy.nothing': () => ['there is no answer to copy yet', 'Send a message first.'],
  'copy.failed': () => [
    'no clipboard was found',
    'Use a terminal that supports OSC 52, or install wl-copy or xclip.',
  ],
  'chat.quit': () => 'The session is saved.',

  'search.hit': ({ name, id, position, line, role, at, snippet }) =>
    `${named(name)} (${id}, ${position === null ? `line ${line}` : `#${position}`}; ${role}, ${at})\n     ${snippet}`,
  'search.none': ({ text }) => `No message contains "${text}".`,
  'search.show': ({ command }) => `Show it in its session: ${command}`,
  'search.more': ({ max }) => `There are more than ${max} matches; "reprise search" lists them.`,
  'search.indexing': ({ done, total }) =>
    done === null || total === null
      ? 'Results are incomplete: the search index is still being built.'
      : `Results are incomplete: ${count(done)} of ${count(total)} transcript lines are indexed.`,
  'search.timeLimit': () => 'Results are incomplete: the search reached its time limit.',

  'history.empty': () => 'No messages yet.',
  'history.message': ({ position, role, text, calls }) => {
    const parts = [text, ...calls.map((name) => `(calls ${name})`)];
    return `${position === null ? '  ' : `#${position} `}${role}: ${parts.filter((part) => part !== '').join(' ')}`;
  },
  'history.compaction': ({ summary }) =>
    `-- the messages above are compacted; the model is sent this summary: ${summary}`,
  'history.badCount': ({ value }) => [
    `/history takes a whole number above 0, not "${value}"`,
    'Write: /history 20',
  ],
  'tree.branch': ({ lines, isCurrent, name, text, messages }) =>
    `${lines}${isCurrent ? '*' : ' '} ${name} ${text} (${counted(messages, 'message')})`,
  'tree.more': ({ branches }) => `… ${count(branches)} more branches`,

  'undo.done': ({ what }) => `Undid the last ${what}.`,
  'undo.nothing': () => 'Nothing to undo.',
  'redo.done': ({ what }) => `Redid the last ${what}.`,
  'redo.nothing': () => 'Nothing to redo.',
  'retry.started': () => 'Asking again. The old answer stays as a branch (/tree).',
  'edit.started': () => 'Sent the new text. The old message stays as a branch (/tree).',
  'stop.done': ({ stopped, cancelled, children }) => {
    const parts = stopped ? ['Stopped. The partial answer is saved.'] : [];
    if (children > 0) parts.push(`${counted(children, 'subagent')} stopped.`);
    if (parts.length === 0) parts.push('Nothing is running.');
    if (cancelled > 0) parts.push(`${counted(cancelled, 'queued message')} cancelled.`);
    return parts.join(' ');
  },

  'compact.nothing': () =>
    'Nothing to compact yet: there are too few messages, or a summary would not be smaller.',
  'compact.done': ({ tokensBefore, tokensAfter }) =>
    `Compacted: ~${count(tokensBefore)} -> ~${count(tokensAfter)} tokens.`,
  'compact.preview': ({ coveredEntries, coveredTokens, keptEntries, keptTokens, from, splitsTurn }) =>
    `Would compact ${count(coveredEntries)} entries (~${count(coveredTokens)} tokens) and leave ${count(keptEntries)} (~${count(keptTokens)} tokens) as they are, starting with ${from}${splitsTurn ? ', inside a long turn' : ''}.`,
  'compact.noneInForce': () => 'There is no compaction to undo.',
  'compact.undone': () => 'Undid the last compaction. All later turns stay.',

  'context.usage': ({ tokens, window, isPart }) =>
    `Context usage: ${isPart ? 'more than ' : '~'}${count(tokens)} / ${count(window)} tokens`,
  'context.bar': ({ parts: all, window }) => contextBar(all, window),
  'context.historyTurns': ({ turns, unsentMessages }) =>
    `History limit: the last ${counted(turns, 'turn')} are sent, ${counted(unsentMessages, 'older message')} not`,
  'context.totals': ({ turns, tokens, cost }) =>
    `Used so far: ${counted(tokens, 'token')} in ${counted(turns, 'turn')}${cost === null ? '' : `, cost ${cost.toFixed(4)}`}`,

  'explain.turn': ({ turnId, status, requests, messages }) =>
    `Turn ${turnId}: ${status}, ${counted(requests, 'request')} for ${counted(messages, 'message')}.`,
  'explain.message': ({ inboxId, state, position, sender, channel, dropped }) => {
    const name = position === null ? 'a message' : `#${position}`;
    const from = `${sender === null ? '' : ` from ${sender}`}${channel === null ? '' : ` on ${channel}`}`;
    const lists =
      dropped.length === 0
        ? ''
        : `; lists ${counted(dropped.length, 'dropped message')}: ${dropped.join(', ')}`;
    return `   ${name}${from}: inbox ${inboxId}${state === null ? '' : `, ${state}`}${lists}`;
  },
  'explain.call': ({ number, model, messages, tokens, usage, latencyMs }) => {
    const reported =
      usage === null
        ? ''
        : `, reported ${count(usage.input)} in (${count(usage.cached)} cached) and ${count(usage.output)} out`;
    return `${number}. ${model}, ${counted(messages, 'message')}, ~${count(tokens)} tokens${reported}, ${count(latencyMs)} ms`;
  },
  'explain.parts': ({ split }) => `   ${parts(split)}`,
  'explain.verified': () => '   verified: the request rebuilt from the history has the same hash',
  'explain.unverified': () =>
    '   not verified: the prompt, the tools, the model or stored lines have changed since',
  'explain.summary': ({ entryId }) => `   the summary ${entryId} replaced older messages`,
  'explain.shortened': ({ results }) => `   ${counted(results, 'tool result')} shortened`,
  'explain.cached': () =>
    '   begins exactly like the previous request, so the provider can answer that part from its prompt cache',
  'explain.cacheBreak': ({ cause }) => `   no prompt cache: ${CACHE_BREAKS[cause]}`,
  cacheBreak: ({ cause }) => CACHE_BREAKS[cause],

  'status.session': ({ name, facts }) => `${named(name)}\n${factsText(facts)}`,
  'status.queue': ({ isRunning, waiting, ...queue }) =>
    `Queue: ${queueText(queue)}; ${isRunning ? 'a turn is running' : 'idle'}, ${count(waiting)} queued`,
  'status.turns': ({ turns, pins }) => `Turns: ${count(turns)}; pinned: ${count(pins)}`,
  'status.damaged': ({ offset }) => `Damaged at byte ${offset}; /repair continues with the readable part.`,
  'model.current': ({ name, from, unavailable }) =>
    `Model: ${name}, ${CHOSEN_BY[from]}${unavailable === null ? '' : ` (this session names ${unavailable}, which is not available here)`}`,
  'model.offer': ({ number, name, contextWindow, cost, isCurrent }) =>
    `${String(number).padStart(3)}${isCurrent ? '*' : ' '} ${name.padEnd(NAME_COLUMN)}${[
      contextWindow === null ? '' : `${count(contextWindow)} tokens`,
      cost === null ? '' : `$${cost.input} in, $${cost.output} out per million`,
    ]
      .filter((part) => part !== '')
      .map((part) => ` ${part}`)
      .join(';')}`.trimEnd(),
  'model.choose': () => 'To choose one: /model <number or name>; /model default removes the choice.',
  'model.demo': () =>
    'This is a demo: the offline model repeats what you write and understands nothing. Set ANTHROPIC_API_KEY or OPENAI_API_KEY to use a real model.',
  'model.noChoice': () => ['no other model can be chosen here', 'The configuration sets the model.'],
  'model.unknown': ({ model }) => [
    `no model "${model}"`,
    'The model was not changed. The program that opened the engine decides which names exist.',
  ],
  'queue.current': (queue) => `Queue: ${queueText(queue)}`,
  'queue.badWord': ({ word, modes, drops }) => [
    `/queue does not know "${word}"; nothing was changed`,
    `Modes: ${modes.join(', ')}. Also debounce:2s, cap:25, drop:${drops.join('|')}, default.`,
  ],
  'pins.none': () => 'No pinned messages. /history shows the positions that /pin takes, such as #3.',
  'pins.list': () => 'Pinned:',
  'pins.notPinned': ({ name }) => [`"${name}" is not pinned`, '/pin lists pinned messages.'],
  'pins.ambiguous': ({ name, pins }) => [
    `"${name}" matches ${pins} pinned messages`,
    'Name one by its position, such as #3. /pin lists pinned messages.',
  ],
};

/** A session may have no name yet. */
export function named(name: string): string {
  return name === '' ? '(untitled)' : name;
}

interface Named {
  readonly name: string;
  readonly id: string;
  readonly messages: number;
}

function inSentence({ name, id, messages }: Named): string {
  return `"${named(name)}" (${id}, ${counted(messages, 'message')})`;
}

function inList({ name, id, messages }: Named): string {
  return `"${named(name)}": ${counted(messages, 'message')} (${id})`;
}

/** As many characters of an id as a person needs to name a session by its start. */
export function shortId(id: string): string {
  return id.replaceAll('-', '').length < 20 ? id : id.slice(0, 13);
}

function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
}

/** "id · key · 3 messages · 5 min ago" */
export function factsText({ id, sessionKey, messages, minutesAgo, isDamaged }: SessionFacts): string {
  const size = messages === null ? 'messages not counted yet' : counted(messages, 'message');
  return `${id} · ${sessionKey} · ${size} · ${ago(minutesAgo)}${isDamaged ? ' · damaged' : ''}`;
}

function also(aliases: readonly string[]): string {
  return aliases.length === 0 ? '' : ` (also ${aliases.map((name) => `/${name}`).join(', ')})`;
}

const PARTS: Readonly<Record<string, string>> = { reserve: 'reserved' };

/** What each part of a context window is called. */
const CONTEXT_PARTS: Readonly<Record<string, string>> = {
  system: 'instructions',
  tools: 'tools',
  summary: 'summary',
  history: 'earlier messages',
  newest: 'latest message and reply',
  overhead: 'added by the provider',
  margin: 'safety margin of the estimate',
  reserve: 'reserved for the answer',
  free: 'free',
};
const BAR_CELLS = 30;
/** The other parts add up to the tokens in the line above the bar. */
const UNUSED_PARTS: ReadonlySet<string> = new Set(['free', 'reserve']);

/** How many cells of a bar each part fills; they add up to all cells. */
export function barCells(all: readonly ContextPart[], window: number, cells: number): number[] {
  let before = 0;
  return all.map(({ tokens }) => {
    const from = Math.round((before * cells) / Math.max(1, window));
    before += tokens;
    return Math.max(0, Math.min(cells, Math.round((before * cells) / Math.max(1, window))) - from);
  });
}

/** One line of the list under the bar. */
export function contextPartText({ name, tokens }: ContextPart, window: number): string {
  const share = ((tokens * 100) / Math.max(1, window)).toFixed(1);
  return `${(CONTEXT_PARTS[name] ?? name).padEnd(NAME_COLUMN)} ${count(tokens).padStart(10)} ${share.padStart(5)}%`;
}

/** The bar has the form that claw0 documents; the parts below it add up to the window. */
function contextBar(all: readonly ContextPart[], window: number): string {
  const used = all.reduce((sum, { name, tokens }) => (UNUSED_PARTS.has(name) ? sum : sum + tokens), 0);
  const [cells = 0] = barCells([{ name: 'used', tokens: used }], window, BAR_CELLS);
  const percent = ((used * 100) / Math.max(1, window)).toFixed(1);
  return [
    `[${'#'.repeat(cells).padEnd(BAR_CELLS, '-')}] ${percent}%`,
    ...all.map((part) => `  ${contextPartText(part, window)}`),
  ].join('\n');
}

function parts(split: Readonly<Record<string, number>>): string {
  return Object.entries(split)
    .map(([part, tokens]) => `${PARTS[part] ?? part} ${count(tokens)}`)
    .join(', ');
}

function queueText({ mode, debounceMs, cap, drop }: Omit<CommandMessages['queue.current'], never>): string {
  return `${mode} debounce:${debounceMs / 1000}s cap:${cap} drop:${drop}`;
}
