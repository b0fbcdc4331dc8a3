import type { None } from '../params.ts';

export type CommandName =
  | 'new'
  | 'sessions'
  | 'switch'
  | 'history'
  | 'tree'
  | 'fork'
  | 'undo'
  | 'redo'
  | 'context'
  | 'compact'
  | 'explain'
  | 'retry'
  | 'edit'
  | 'delete'
  | 'rename'
  | 'pin'
  | 'unpin'
  | 'repair'
  | 'search'
  | 'model'
  | 'queue'
  | 'stop'
  | 'status'
  | 'export'
  | 'copy'
  | 'help'
  | 'quit';

/** `remoteExport`: what /export does in a chat with a server. */
export type HelpTopic = CommandName | 'remoteExport';

export type CommandGroup = 'conversation' | 'sessions' | 'context' | 'settings' | 'other';

/** Why a request could not reuse the prompt cache of the request before it. */
export type CacheBreak =
  | 'firstRequest'
  | 'compaction'
  | 'toolResults'
  | 'stricter'
  | 'model'
  | 'historyTurns'
  | 'branch';

/** A session in a list. */
export interface SessionFacts {
  readonly id: string;
  readonly sessionKey: string;
  /** Null while the index is rebuilt and the transcript was not counted yet. */
  readonly messages: number | null;
  readonly minutesAgo: number;
  readonly isDamaged: boolean;
}

/** A session in a sentence. An empty name: it has none yet. */
interface NamedSession {
  readonly name: string;
  readonly id: string;
  readonly messages: number;
}

/** A model that can be chosen. Null: unknown. */
export interface ModelOffer {
  readonly name: string;
  readonly contextWindow: number | null;
  /** Dollars per million tokens. */
  readonly cost: { readonly input: number; readonly output: number } | null;
}

/** `free`: unused; `reserve`: left for the answer; `margin`: added to an estimate. */
export interface ContextPart {
  readonly name: string;
  readonly tokens: number;
}

/** Messages of commands: what they answer, and what their help says. */
export interface CommandMessages {
  /** Content in no language: a message, a name, a bar of characters. */
  text: { readonly text: string };
  /** A failure whose cause has no code, with its English text. A null `next`: the failure names no next step. */
  failed: { readonly code: string; readonly text: string; readonly next: string | null };

  'help.group': { readonly group: CommandGroup };
  'help.command': { readonly usage: string; readonly about: HelpTopic; readonly aliases: readonly string[] };
  'help.one': { readonly usage: string; readonly about: HelpTopic; readonly aliases: readonly string[] };
  'help.about': { readonly about: HelpTopic };
  'help.escape': None;
  /** The keys of a terminal chat. */
  'help.keys': None;
  'help.noteLast': None;
  'help.ownerOnly': None;
  'command.unknown': { readonly name: string; readonly suggestion: string | null };
  'command.notOne': None;
  'command.unknownHere': { readonly name: string };
  'command.notHere': { readonly name: string; readonly place: 'terminal' | 'owner' | 'other' };
  'command.ownerOnly': { readonly name: string };
  'command.needsArgument': { readonly name: string; readonly usage: string };

  'session.new': { readonly label: string };
  'session.newOnChannel': None;
  'session.here': NamedSession;
  'session.switched': NamedSession;
  'session.forked': { readonly id: string };
  'session.renamed': { readonly label: string };
  'session.notDamaged': { readonly name: string };
  'session.repaired': {
    readonly id: string;
    readonly from: string;
    readonly entries: number;
    /** Null: unknown. */
    readonly damagedAt: number | null;
  };
  'sessions.none': None;
  'sessions.noMatch': { readonly filter: string };
  'sessions.row': {
    readonly number: number;
    readonly isCurrent: boolean;
    readonly name: string;
    readonly facts: SessionFacts;
  };
  'sessions.more': { readonly sessions: number };
  'delete.question': NamedSession & { readonly isCurrent: boolean };
  'delete.done': NamedSession;
  'delete.nothing': None;
  'delete.needsConfirmation': NamedSession;
  'export.session': NamedSession;
  'copy.done': { readonly characters: number };
  'copy.nothing': None;
  'copy.failed': None;
  'chat.quit': None;

  'search.hit': {
    readonly name: string;
    readonly id: string;
    /** Null: the line is given instead. */
    readonly position: number | null;
    readonly line: number;
    readonly role: string;
    readonly at: string;
    readonly snippet: string;
  };
  'search.none': { readonly text: string };
  'search.show': { readonly command: string };
  'search.more': { readonly max: number };
  /** Nulls: it is not known how far the index is. */
  'search.indexing': { readonly done: number | null; readonly total: number | null };
  'search.timeLimit': None;

  'history.empty': None;
  'history.message': {
    /** Null: a tool result, or a message of another tool. */
    readonly position: number | null;
    readonly role: string;
    readonly text: string;
    readonly calls: readonly string[];
  };
  'history.compaction': { readonly summary: string };
  'history.badCount': { readonly value: string };
  /** A stretch of messages between two branch points. `lines` draws where it branches off. */
  'tree.branch': {
    readonly lines: string;
    readonly isCurrent: boolean;
    readonly name: string;
    readonly text: string;
    readonly messages: number;
  };
  'tree.more': { readonly branches: number };

  'undo.done': { readonly what: 'turn' | 'compaction' | 'reset' };
  'undo.nothing': None;
  'redo.done': { readonly what: 'turn' | 'compaction' | 'reset' };
  'redo.nothing': None;
  'retry.started': None;
  'edit.started': None;
  'stop.done': { readonly stopped: boolean; readonly cancelled: number; readonly children: number };

  'compact.nothing': None;
  'compact.done': { readonly tokensBefore: number; readonly tokensAfter: number };
  'compact.preview': {
    readonly coveredEntries: number;
    readonly coveredTokens: number;
    readonly keptEntries: number;
    readonly keptTokens: number;
    readonly from: string;
    readonly splitsTurn: boolean;
  };
  'compact.noneInForce': None;
  'compact.undone': None;

  'context.usage': { readonly tokens: number; readonly window: number; readonly isPart: boolean };
  /** The whole window, part by part: they add up to it. */
  'context.bar': { readonly parts: readonly ContextPart[]; readonly window: number };
  'context.historyTurns': { readonly turns: number; readonly unsentMessages: number };
  /** A null cost: the price of the model is unknown. */
  'context.totals': { readonly turns: number; readonly tokens: number; readonly cost: number | null };

  'explain.turn': {
    readonly turnId: string;
    readonly status: string;
    readonly requests: number;
    readonly messages: number;
  };
  /** Nulls: unknown. `dropped`: inbox rows that were dropped, and that this message lists. */
  'explain.message': {
    readonly inboxId: string;
    readonly state: string | null;
    readonly position: number | null;
    readonly sender: string | null;
    readonly channel: string | null;
    readonly dropped: readonly string[];
  };
  'explain.call': {
    readonly number: number;
    readonly model: string;
    readonly messages: number;
    readonly tokens: number;
    /** As the provider reported it; null: it did not. */
    readonly usage: { readonly input: number; readonly cached: number; readonly output: number } | null;
    readonly latencyMs: number;
  };
  'explain.parts': { readonly split: Readonly<Record<string, number>> };
  'explain.verified': None;
  'explain.unverified': None;
  'explain.summary': { readonly entryId: string };
  'explain.shortened': { readonly results: number };
  'explain.cached': None;
  'explain.cacheBreak': { readonly cause: CacheBreak };
  cacheBreak: { readonly cause: CacheBreak };

  'status.session': { readonly name: string; readonly facts: SessionFacts };
  'status.queue': QueueParams & { readonly isRunning: boolean; readonly waiting: number };
  'status.turns': { readonly turns: number; readonly pins: number };
  'status.damaged': { readonly offset: number };
  'model.current': {
    readonly name: string;
    readonly from: 'run' | 'session' | 'agent' | 'all';
    /** The model that the session names and that is not available; null: it is. */
    readonly unavailable: string | null;
  };
  'model.offer': ModelOffer & { readonly number: number; readonly isCurrent: boolean };
  'model.choose': None;
  'model.demo': None;
  'model.noChoice': None;
  'model.unknown': { readonly model: string };
  'queue.current': QueueParams;
  'queue.badWord': {
    readonly word: string;
    readonly modes: readonly string[];
    readonly drops: readonly string[];
  };
  'pins.none': None;
  'pins.list': None;
  'pins.notPinned': { readonly name: string };
  'pins.ambiguous': { readonly name: string; readonly pins: number };
}

interface QueueParams {
  readonly mode: string;
  readonly debounceMs: number;
  readonly cap: number;
  readonly drop: string;
}
