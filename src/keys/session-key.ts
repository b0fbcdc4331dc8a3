import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { KeyPart } from '../messages/params/params-keys.ts';
import { quoted } from '../messages/quoted.ts';
import { escapeKeyPart, escapeUnit, unescapeKeyPart } from './escape.ts';
import { parseAgentId } from './ids.ts';

/**
 * The grammar of session keys: one function writes a key, another reads it, and they are inverse (I-1).
 *
 * Every form ends in `<literal>:<id>`, so a thread marker differs from an id with the value "thread". A channel or
 * main key that equals a literal is escaped in its first letter.
 */

export type ThreadMarker = 'thread' | 'topic';

export interface ThreadRef {
  readonly marker: ThreadMarker;
  readonly id: string;
}

interface AgentKey {
  readonly agentId: string;
  /**
   * The innermost thread comes last: `…:thread:1:topic:2` has two; the parent of a thread is the key without its last
   * one.
   */
  readonly threads?: readonly ThreadRef[];
}

export type SessionKeyParts =
  | { readonly kind: 'global' }
  | (AgentKey & { readonly kind: 'main'; readonly mainKey: string })
  | (AgentKey & {
      readonly kind: 'direct';
      readonly peer: string;
      readonly channel?: string;
      readonly account?: string;
    })
  | (AgentKey & { readonly kind: 'group' | 'channel'; readonly channel: string; readonly id: string })
  | (AgentKey & { readonly kind: 'subagent' | 'session' | 'hook' | 'acp'; readonly id: string })
  | (AgentKey & { readonly kind: 'cron'; readonly job: string; readonly run?: string })
  /** A key of another tool in none of the forms above; stored unchanged. */
  | (AgentKey & { readonly kind: 'other'; readonly parts: readonly string[] });

export const DEFAULT_MAIN_KEY = 'main';
const GLOBAL_KEY = 'global';
const MAX_KEY_LENGTH = 4096;
const LITERALS: ReadonlySet<string> = new Set(
  'agent global main direct group channel thread topic subagent session cron run hook acp'.split(' '),
);

export function formatSessionKey(parts: SessionKeyParts): string {
  if (parts.kind === 'global') return GLOBAL_KEY;
  const rest = [...formatBase(parts)];
  for (const { marker, id } of parts.threads ?? []) rest.push(marker, part(id, 'thread id'));
  const key = `agent:${parseAgentId(parts.agentId)}:${rest.join(':')}`;
  if (key.length > MAX_KEY_LENGTH) {
    const params = { length: key.length, max: MAX_KEY_LENGTH };
    throw failure('LIMIT_EXCEEDED', 'key.tooLong', params, { details: { limit: 'key', ...params } });
  }
  return key;
}

function formatBase(parts: Exclude<SessionKeyParts, { kind: 'global' }>): string[] {
  switch (parts.kind) {
    case 'main':
      return [parts.mainKey === DEFAULT_MAIN_KEY ? DEFAULT_MAIN_KEY : name(parts.mainKey, 'main key')];
    case 'direct': {
      if (parts.channel === undefined) {
        if (parts.account === undefined) return ['direct', part(parts.peer, 'peer')];
        throw failure('INVALID_KEY', 'key.accountAlone', { account: quoted(parts.account) });
      }
      const route = [name(parts.channel, 'channel')];
      if (parts.account !== undefined) route.push(part(parts.account, 'account'));
      return [...route, 'direct', part(parts.peer, 'peer')];
    }
    case 'group':
    case 'channel':
      return [name(parts.channel, 'channel'), parts.kind, part(parts.id, `${parts.kind} id`)];
    case 'subagent':
    case 'session':
    case 'hook':
    case 'acp':
      return [parts.kind, part(parts.id, `${parts.kind} id`)];
    case 'cron': {
      const job = ['cron', part(parts.job, 'job')];
      return parts.run === undefined ? job : [...job, 'run', part(parts.run, 'run id')];
    }
    case 'other': {
      const rest = parts.parts.map((p) => part(p, 'key part'));
      const { kind } = parseRest(rest, parts.agentId);
      if (kind !== 'other')
        throw failure('INVALID_KEY', 'key.otherKind', { key: quoted(rest.join(':')), kind });
      return rest;
    }
  }
}

/**
 * Reads a key in canonical form, or the three-part form `<agent>:<channel>:<peer>`. Refuses a key with a
 * non-canonical spelling (a needless or lower-case escape): two spellings of one conversation would be two
 * conversations.
 */
export function parseSessionKey(key: string): SessionKeyParts {
  if (key.length > MAX_KEY_LENGTH)
    throw failure('INVALID_KEY', 'key.tooLong', { length: key.length, max: MAX_KEY_LENGTH });
  if (key === GLOBAL_KEY) return { kind: 'global' };
  const segments = key.split(':');
  const [first, second, third] = segments;
  if (first !== 'agent') {
    if (segments.length !== 3 || first === undefined || second === undefined || third === undefined) {
      throw invalid(key);
    }
    const short = { channel: unescapeKeyPart(second), peer: unescapeKeyPart(third) };
    const parts: SessionKeyParts = { kind: 'direct', agentId: parseAgentId(first), ...short };
    formatSessionKey(parts); // refuses empty parts
    return parts;
  }
  if (second === undefined || third === undefined) throw invalid(key);
  const parts = parseRest(segments.slice(2), parseAgentId(second));
  const canonical = formatSessionKey(parts);
  if (canonical !== key) {
    throw failure('INVALID_KEY', 'key.otherSpelling', { canonical }, { details: { key, canonical } });
  }
  return parts;
}

/** The agent of a conversation; the global conversation belongs to `main`. */
export function agentOfKey(key: string | SessionKeyParts): string {
  const parts = typeof key === 'string' ? parseSessionKey(key) : key;
  return parts.kind === 'global' ? 'main' : parts.agentId;
}

/** The canonical spelling of any accepted key. */
export function normalizeSessionKey(key: string): string {
  return formatSessionKey(parseSessionKey(key));
}

function parseRest(rest: readonly string[], agentId: string): Exclude<SessionKeyParts, { kind: 'global' }> {
  const threads: ThreadRef[] = [];
  let end = rest.length;
  // A marker is the second to last part; the grammar allows no id there.
  for (let marker = rest[end - 2]; end >= 3 && isThreadMarker(marker); marker = rest[end - 2]) {
    threads.unshift({ marker, id: unescapeKeyPart(rest[end - 1] ?? '') });
    end -= 2;
  }
  return { ...parseBase(rest.slice(0, end), agentId), ...(threads.length > 0 && { threads }) };
}

function parseBase(base: readonly string[], agentId: string): Exclude<SessionKeyParts, { kind: 'global' }> {
  const parts = base.map(unescapeKeyPart);
  const [a = '', b = '', c = '', d = ''] = parts;
  const [rawA, rawB, rawC] = base;
  if (parts.length === 1) return { kind: 'main', agentId, mainKey: a };
  if (parts.length === 2) {
    if (rawA === 'direct') return { kind: 'direct', agentId, peer: b };
    if (rawA === 'subagent' || rawA === 'session' || rawA === 'hook' || rawA === 'acp') {
      return { kind: rawA, agentId, id: b };
    }
    if (rawA === 'cron') return { kind: 'cron', agentId, job: b };
  }
  if (parts.length === 3) {
    if (rawB === 'direct') return { kind: 'direct', agentId, channel: a, peer: c };
    if (rawB === 'group' || rawB === 'channel') return { kind: rawB, agentId, channel: a, id: c };
  }
  if (parts.length === 4) {
    if (rawC === 'direct') return { kind: 'direct', agentId, channel: a, account: b, peer: d };
    if (rawA === 'cron' && rawC === 'run') return { kind: 'cron', agentId, job: b, run: d };
  }
  return { kind: 'other', agentId, parts };
}

function isThreadMarker(part: string | undefined): part is ThreadMarker {
  return part === 'thread' || part === 'topic';
}

function part(id: string, what: KeyPart): string {
  if (id === '') throw failure('INVALID_KEY', 'key.emptyPart', { part: what });
  return escapeKeyPart(id);
}

/** A name in a position where the grammar has literals. A name that equals a literal is escaped. */
function name(id: string, what: KeyPart): string {
  return LITERALS.has(id) ? escapeUnit(id) + id.slice(1) : part(id, what);
}

function invalid(key: string): RepriseError {
  return failure('INVALID_KEY', 'key.badForm', { key: quoted(key) }, { details: { key } });
}
