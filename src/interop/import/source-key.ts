import { RepriseError } from '../../errors.ts';
import { type RouteInput, resolveSessionKey } from '../../keys/resolve.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import type { Store } from '../../store/port/store.ts';
import type { FoundSession } from './source.ts';

export interface KeyOptions {
  /** All sessions become this agent's. */
  readonly agentId?: string | undefined;
  /** The key of messages that come from there. Unset: by the default rules of routing. */
  readonly keyOf?: ((from: RouteInput) => string) | undefined;
}

/** OpenClaw wrote `dm` before it wrote `direct`. */
const OLD_DIRECT = /^(agent:[^:]+:(?:[^:]+:){0,2})dm:(?=.)/;

/**
 * A key of another system as it is written here. Others leave characters of an id as they are that are escaped here (`/` in
 * the group ids of Signal), and the router escapes them: unchanged, the key would match no later message.
 */
export function canonicalSourceKey(key: string): string {
  try {
    return formatSessionKey(parseSessionKey(key.replace(OLD_DIRECT, '$1direct:')));
  } catch (error) {
    const canonical = error instanceof RepriseError ? error.details['canonical'] : undefined;
    if (typeof canonical === 'string') return canonical;
    throw error;
  }
}

/** Of `<agent>:<channel>:<peer>`, where its messages come from; the routing rules decide which key that is here. */
function routeOfShortKey(key: string): RouteInput | undefined {
  if (key.startsWith('agent:')) return undefined;
  try {
    const parts = parseSessionKey(key);
    if (parts.kind !== 'direct') return undefined;
    const { agentId, channel, peer } = parts;
    return { agentId, channel, peer, peerKind: 'direct' };
  } catch (error) {
    if (error instanceof RepriseError) return undefined;
    throw error;
  }
}

interface SourceKey {
  readonly key: string;
  /** By the rules of routing, from another form. */
  readonly isTranslated: boolean;
}

/** The first valid key of a session; what is no valid key is reported. */
export function readSourceKey(
  { from: route, key: indexed, fallbackFrom }: Pick<FoundSession, 'from' | 'key' | 'fallbackFrom'>,
  headerKey: unknown,
  { agentId, keyOf = resolveSessionKey }: KeyOptions,
  notes: string[],
): SourceKey | undefined {
  const byRoute = (from: RouteInput): SourceKey => ({
    key: keyOf(agentId === undefined ? from : { ...from, agentId }),
    isTranslated: true,
  });
  const byText = (text: string): SourceKey => {
    const from = routeOfShortKey(text);
    if (from !== undefined) return byRoute(from);
    const parts = parseSessionKey(canonicalSourceKey(text));
    const isOverridden = agentId !== undefined && parts.kind !== 'global';
    return { key: formatSessionKey(isOverridden ? { ...parts, agentId } : parts), isTranslated: false };
  };
  if (route !== undefined) return byRoute(route);
  for (const text of [indexed, headerKey]) {
    if (typeof text !== 'string') continue;
    try {
      return byText(text);
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      const given = JSON.stringify(text.slice(0, 120));
      notes.push(`its key ${given} cannot be used here (${error.message}); it gets a key by its id`);
    }
  }
  if (fallbackFrom !== undefined) return byRoute(fallbackFrom);
  return undefined;
}

/** Which sessions of the running import have which keys. A dry run activates none, so the store does not know. */
export type KeyClaims = Map<string, { readonly id: string; readonly lastAt: string }>;

interface KeyRequest {
  readonly id: string;
  readonly agentId: string;
  readonly sourceKey: SourceKey | undefined;
  /** The source does not say that the key stands for another session. */
  readonly mayTakeKey: boolean;
  readonly lastAt: string;
  readonly claims: KeyClaims;
}

export interface ChosenKey {
  readonly key: string;
  /** It becomes the session of its key, if the key has none or has the one named by `instead`. */
  readonly takesKey: boolean;
  readonly instead?: string;
}

/**
 * A key that has a session here keeps it. Several chats of an owner have one key here: the first that is imported gets
 * it, the others get keys of their own, so that the newest of all can be resumed.
 */
export async function chooseKey(
  store: Store,
  { id, agentId, sourceKey, mayTakeKey, lastAt, claims }: KeyRequest,
  notes: string[],
): Promise<ChosenKey> {
  const ownKey = formatSessionKey({ kind: 'session', agentId, id });
  const { key, isTranslated } = sourceKey ?? { key: ownKey, isTranslated: false };
  const claim = claims.get(key);
  const holder = claim?.id ?? (await store.active(key))?.id;
  if (!mayTakeKey || holder === undefined || holder === id) return { key, takesKey: mayTakeKey };
  if (isTranslated && isOwnersChat(key)) {
    notes.push(`${key} has the session ${holder}; this one gets the key ${ownKey}`);
    return { key: ownKey, takesKey: true };
  }
  const isNewer = claim !== undefined && claim.lastAt < lastAt;
  notes.push(
    isNewer
      ? `${key} is also the key of ${holder}, which is older: the next message of this key reaches this session`
      : `${key} has the session ${holder}, which the next message of this key reaches; find this one by its id`,
  );
  return isNewer ? { key, takesKey: true, instead: holder } : { key, takesKey: false };
}

function isOwnersChat(key: string): boolean {
  const parts = parseSessionKey(key);
  return parts.kind === 'global' || (parts.kind === 'main' && parts.threads === undefined);
}
