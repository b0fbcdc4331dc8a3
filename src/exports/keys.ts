/** `reprise/keys`: session keys: building, parsing and routing. */

export {
  type Binding,
  type BindingSubject,
  type BoundAgentOptions,
  resolveBoundAgent,
} from '../keys/bindings.ts';
export {
  buildAgentMainSessionKey,
  buildAgentPeerSessionKey,
  buildGroupHistoryKey,
  type DmScope,
  type GroupHistoryKeyInput,
  type MainKeyInput,
  type PeerKeyInput,
  type PeerKind,
} from '../keys/build.ts';
export { isSessionId, normalizeAgentId, parseAgentId, parseSessionId } from '../keys/ids.ts';
export {
  type AgentSessionKey,
  isAcpSessionKey,
  isSubagentSessionKey,
  parseAgentSessionKey,
  resolveThreadParentSessionKey,
} from '../keys/predicates.ts';
export { type RouteInput, type RoutingRules, resolveSessionKey } from '../keys/resolve.ts';
export {
  formatSessionKey,
  normalizeSessionKey,
  parseSessionKey,
  type SessionKeyParts,
  type ThreadMarker,
  type ThreadRef,
} from '../keys/session-key.ts';
