import { basename, dirname, join } from 'node:path';
import { canonicalMessages } from '../../../transcript/dialects/blocks.ts';
import { isoTime } from '../../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../../transcript/json.ts';
import type { Candidate, Importer } from '../importer.ts';
import { readRecords } from '../record-lines.ts';
import { originOf, type ReadSession, textIn } from '../source.ts';
import { listFolder } from '../source-files.ts';
import { findClaudeSessions } from './claude-code-files.ts';
import { EntryList, headerOf, usageOf } from './entry-list.ts';

/** Lines about the program, not about the conversation. */
const STATE: Readonly<Record<string, string>> = {
  'file-history-snapshot': 'backups of files that the tool edited',
  'queue-operation': 'the queue of typed prompts; each prompt that ran is a message',
  'last-prompt': 'a pointer to the last message',
  mode: 'a state of the program',
  'permission-mode': 'a permission setting',
  'agent-name': 'repeats the title',
  'agent-color': 'a color of the display',
  'agent-setting': 'a setting of the program',
  progress: 'progress of a running tool; the result is a message',
  saved_hook_context: 'output of hooks',
  'content-replacement': 'shortened copies of results',
  'pr-link': 'a link of the display',
  tag: 'a tag of the display',
  'worktree-state': 'a state of the program',
  'marble-origami-commit': 'a state of the program',
  'attribution-snapshot': 'statistics of edited files',
  'speculation-accept': 'statistics',
};
const SYSTEM_STATE: ReadonlySet<unknown> = new Set([
  ...['turn_duration', 'stop_hook_summary', 'microcompact_boundary', 'api_metrics', 'bridge_status'],
  ...['agents_killed', 'memory_saved', 'permission_retry', 'scheduled_task_fire', 'file_snapshot'],
]);
const TITLES: Readonly<Record<string, string>> = {
  'custom-title': 'customTitle',
  'ai-title': 'aiTitle',
  summary: 'summary',
};

export const claudeCode: Importer = {
  tool: 'claude-code',
  name: 'Claude Code',
  places: ({ home, env }) => {
    const folders = env['CLAUDE_CONFIG_DIR']?.split(',') ?? [
      join(home, '.claude'),
      join(home, '.config', 'claude'),
    ];
    return folders.map((folder) => join(folder.trim(), 'projects'));
  },
  detect: isClaudeCode,
  async list(path) {
    const found = await findClaudeSessions(path);
    const sessions = found.map(({ files, stamp, id, root, parentId, indexedAt }) => ({
      place: files[0] ?? path,
      tool: 'claude-code',
      stamp,
      id,
      indexedAt,
      ...(parentId !== undefined && { parentId, key: `agent:main:subagent:${id}` }),
      read: () => readClaudeSession(files, id, root),
    }));
    return { kind: 'Claude Code', sessions, convlogs: [], problems: [] };
  },
  notImported: {
    ...STATE,
    attachment:
      'context that the tool adds to a request: file lists, reminders, skills. Queued prompts are imported',
    system: 'timings and notices of the program',
  },
};

async function isClaudeCode({ path, folder, lines }: Candidate): Promise<boolean> {
  if (folder === undefined) return lines.some(isClaudeLine);
  // A configuration folder, its `projects`, or one project.
  if (basename(path) === 'projects') return hasSessions(path, folder.folders);
  if (folder.folders.includes('projects'))
    return hasSessions(join(path, 'projects'), (await listFolder(join(path, 'projects'))).folders);
  return SESSION_FOLDER.test(path) && folder.files.some((name) => SESSION_FILE.test(name));
}

const SESSION_FILE = /^(?:[0-9a-f]{8}-[0-9a-f-]{27}|agent-[\w-]+)\.jsonl$/;
const SESSION_FOLDER = /(?:^|[\\/])-[^\\/]*$|[\\/]projects[\\/][^\\/]+$/;

async function hasSessions(path: string, folders: readonly string[]): Promise<boolean> {
  for (const name of folders)
    if ((await listFolder(join(path, name))).files.some((file) => SESSION_FILE.test(file))) return true;
  return false;
}

function isClaudeLine({ type, uuid, parentUuid, sessionId, message, leafUuid }: JsonObject): boolean {
  if (typeof uuid === 'string' && parentUuid !== undefined)
    return type === 'system' || type === 'attachment' || isObject(message);
  if (type === 'summary' && typeof leafUuid === 'string') return true;
  return typeof sessionId === 'string' && typeof type === 'string' && type in STATE && type.includes('-');
}

/** One line of the tree. */
interface Line {
  readonly record: JsonObject;
  readonly uuid: string;
  readonly at: string;
}

/** `root`: the first line of the subagent whose lines are read; unset: the lines of the conversation itself. */
async function readClaudeSession(files: readonly string[], id: string, root?: string): Promise<ReadSession> {
  const reader = new ClaudeReader(root);
  for (const path of files) {
    const isSubagentFile = /^agent-/.test(basename(path)) || basename(dirname(path)) === 'subagents';
    reader.beginFile(isSubagentFile);
    await readRecords(
      path,
      (record, line) => reader.add(record, `${basename(path)} line ${line}`),
      reader.list.loss,
    );
  }
  return reader.finish(id);
}

class ClaudeReader {
  readonly list: EntryList = new EntryList('claude-code');
  readonly #root: string | undefined;
  #isSubagentFile = false;
  readonly #seen: Set<string> = new Set();
  /** What a line became: its entry, or the nearest one above it. */
  readonly #entryOf: Map<string, string | null> = new Map();
  /** The root of each line of a subagent. */
  readonly #rootOf: Map<string, string> = new Map();
  readonly #answers: Map<string, { readonly id: string; readonly content: unknown[]; message: JsonObject }> =
    new Map();
  /** The answer that a result belongs to, and its newest result, so that parallel results form one chain. */
  readonly #answerOf: Map<string, string> = new Map();
  readonly #lastResult: Map<string, string> = new Map();
  readonly #titles: Map<string, string> = new Map();
  #compaction: { readonly line: Line; readonly parent: string | null; summary: string } | undefined;
  #cwd: unknown;
  #origin: string | undefined;
  #began: unknown;

  constructor(root: string | undefined) {
    this.#root = root;
  }

  beginFile(isSubagentFile: boolean): void {
    this.#isSubagentFile = isSubagentFile;
  }

  add(record: JsonObject, at: string): void {
    const { type, uuid } = record;
    const title = TITLES[String(type)];
    if (title !== undefined && uuid === undefined) {
      const text = textIn(record[title]);
      if (text !== undefined && this.#root === undefined) this.#titles.set(String(type), text);
      return;
    }
    if (typeof uuid === 'string') {
      if (!this.#isOurs(record, uuid)) return;
      if (this.#seen.has(uuid)) return;
      this.#seen.add(uuid);
      this.#cwd ??= textIn(record['cwd']);
      this.#origin ??= originOf(record);
      this.#began ??= textIn(record['timestamp']);
      this.#addLine({ record, uuid, at });
      return;
    }
    if (this.#root !== undefined && !this.#isSubagentFile) return;
    const kind = textIn(type) ?? 'record without type';
    if (kind in STATE) this.list.loss.dropped(kind, at);
    else this.#raw(kind, record, at, `raw ${at}`, this.list.last);
  }

  /** Version 1 writes subagents into the file of the session, as trees of their own. */
  #isOurs({ isSidechain, parentUuid }: JsonObject, uuid: string): boolean {
    if (this.#isSubagentFile) return true;
    if (isSidechain !== true) return this.#root === undefined;
    const root = (typeof parentUuid === 'string' ? this.#rootOf.get(parentUuid) : undefined) ?? uuid;
    this.#rootOf.set(uuid, root);
    return root === this.#root;
  }

  #addLine(line: Line): void {
    const { record, uuid, at } = line;
    const { type, subtype, message, attachment } = record;
    const parent = this.#parentOf(record);
    if (type === 'system' && subtype === 'compact_boundary') {
      this.#closeCompaction();
      this.#compaction = { line, parent, summary: '' };
      this.#entryOf.set(uuid, uuid);
    } else if ((type === 'user' || type === 'assistant') && isObject(message)) {
      if (record['isCompactSummary'] === true && this.#addSummary(line, parent, message)) return;
      if (this.#compaction !== undefined) this.#closeCompaction();
      if (type === 'assistant') this.#addAnswer(line, parent, message);
      else this.#addUser(line, parent, message);
    } else if (type === 'attachment' && isObject(attachment)) {
      const prompt = attachment['type'] === 'queued_command' ? attachment['prompt'] : undefined;
      if (prompt !== undefined) this.#addUser(line, parent, { role: 'user', content: prompt });
      else this.#skip(`attachment/${String(attachment['type'])}`, line, parent);
    } else if (type === 'system' && SYSTEM_STATE.has(subtype))
      this.#skip(`system/${String(subtype)}`, line, parent);
    else if (typeof type === 'string' && type in STATE) this.#skip(type, line, parent);
    else {
      const kind = `${String(type)}${subtype === undefined ? '' : `/${String(subtype)}`}`;
      this.#raw(kind, record, at, uuid, parent);
      this.#entryOf.set(uuid, uuid);
    }
  }

  #parentOf({ parentUuid, logicalParentUuid }: JsonObject): string | null {
    const above = textIn(parentUuid) ?? textIn(logicalParentUuid);
    if (above === undefined) return null;
    // A line that was cut away: the conversation continues at the line before.
    const parent = this.#entryOf.has(above) ? (this.#entryOf.get(above) ?? null) : this.list.last;
    const answer = parent === null ? undefined : this.#answerOf.get(parent);
    return answer === undefined ? parent : (this.#lastResult.get(answer) ?? parent);
  }

  #skip(kind: string, { uuid, at }: Line, parent: string | null): void {
    this.list.loss.dropped(kind, at);
    this.#entryOf.set(uuid, parent);
  }

  #raw(kind: string, record: JsonObject, at: string, id: string, parentId: string | null): void {
    this.list.raw(kind, record, at, { id, parentId, timestamp: isoTime(record['timestamp'] ?? this.#began) });
  }

  /** @returns whether it is the summary of a compaction. */
  #addSummary(line: Line, parent: string | null, { content }: JsonObject): boolean {
    const summary = plainText(content);
    if (summary === '') return false;
    // Earlier versions write no boundary.
    this.#compaction ??= { line, parent, summary };
    this.#compaction.summary = summary;
    this.#entryOf.set(line.uuid, this.#compaction.line.uuid);
    this.#closeCompaction();
    return true;
  }

  #closeCompaction(): void {
    const open = this.#compaction;
    if (open === undefined) return;
    this.#compaction = undefined;
    const { line, parent, summary } = open;
    const { record, uuid, at } = line;
    if (summary === '') {
      this.list.loss.dropped('compaction without a summary', at);
      this.#entryOf.set(uuid, parent);
      return;
    }
    const { compactMetadata } = record;
    const facts = isObject(compactMetadata) ? compactMetadata : {};
    const segment = isObject(facts['preservedSegment']) ? facts['preservedSegment'] : {};
    const kept = this.#entryOf.get(String(segment['headUuid']));
    const tokens = facts['preTokens'];
    this.list.add('compaction', uuid, parent, isoTime(record['timestamp']), {
      summary,
      firstKeptEntryId: kept ?? uuid,
      tokensBefore: typeof tokens === 'number' ? tokens : 0,
    });
    this.#entryOf.set(uuid, uuid);
  }

  /** The blocks of one answer are in several lines. */
  #addAnswer({ record, uuid }: Line, parent: string | null, message: JsonObject): void {
    const messageId = textIn(message['id']) ?? uuid;
    const known = this.#answers.get(messageId);
    const [canonical = {}] = canonicalMessages(message);
    const blocks = asBlocks(canonical['content']);
    if (known !== undefined) {
      known.content.push(...blocks);
      Object.assign(known.message, answerFacts(message, record));
      this.#entryOf.set(uuid, known.id);
      return;
    }
    const answer = { role: 'assistant', content: [...blocks], ...answerFacts(message, record) };
    this.#answers.set(messageId, { id: uuid, content: answer.content, message: answer });
    this.#entryOf.set(uuid, uuid);
    this.list.message(uuid, parent, isoTime(record['timestamp']), answer);
  }

  #addUser({ record, uuid }: Line, above: string | null, message: JsonObject): void {
    const timestamp = isoTime(record['timestamp']);
    let parent = above;
    const messages = canonicalMessages({ ...message, role: 'user' });
    for (const [i, each] of messages.entries()) {
      const id = i === messages.length - 1 ? uuid : `${uuid}-${i}`;
      if (each['role'] === 'toolResult') {
        const answer = (parent === null ? undefined : this.#answerOf.get(parent)) ?? parent ?? '';
        parent = this.#lastResult.get(answer) ?? parent;
        this.#answerOf.set(id, answer);
        this.#lastResult.set(answer, id);
        this.list.message(id, parent, timestamp, each);
      } else if (record['isMeta'] === true) {
        // The tool wrote it into the request; no person did.
        this.list.add('custom_message', id, parent, timestamp, {
          customType: 'claude-code.meta',
          content: each['content'],
          display: false,
        });
      } else this.list.message(id, parent, timestamp, each);
      parent = id;
    }
    this.#entryOf.set(uuid, parent);
  }

  finish(id: string): ReadSession {
    this.#closeCompaction();
    const title =
      this.#titles.get('custom-title') ?? this.#titles.get('ai-title') ?? this.#titles.get('summary');
    const parentSession = this.#origin;
    return this.list.finish(headerOf(id, { timestamp: this.#began, cwd: this.#cwd, title, parentSession }));
  }
}

const STOPS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'toolUse',
  max_tokens: 'length',
};

function answerFacts(
  { model, usage, stop_reason }: JsonObject,
  { isApiErrorMessage }: JsonObject,
): JsonObject {
  const counted = isObject(usage) ? usage : {};
  const tokens = usageOf(
    counted['input_tokens'],
    counted['output_tokens'],
    counted['cache_read_input_tokens'],
    counted['cache_creation_input_tokens'],
  );
  const stopReason = isApiErrorMessage === true ? 'error' : STOPS[String(stop_reason)];
  return {
    ...(typeof model === 'string' && model !== '<synthetic>' && { provider: 'anthropic', model }),
    ...(tokens !== undefined && { usage: tokens }),
    ...(stopReason !== undefined && { stopReason }),
  };
}

function asBlocks(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content as readonly unknown[];
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
}

function plainText(content: unknown): string {
  if (typeof content === 'string') return content;
  return asBlocks(content)
    .map((block) => (isObject(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .join('\n');
}
