/** `reprise`: what most programs need. The rest is in the subpaths, see src/exports/. */

export { createModel } from './config/create-model.ts';
export { openStore } from './config/open.ts';
export { type OpenRepriseOptions, openReprise } from './config/open-reprise.ts';
export type { DoneEvent, ErrorEvent, SessionEvent, TurnEvent } from './engine/events.ts';
export type { SessionMessage } from './engine/history/session-messages.ts';
export type { InboundMessage, UserInput } from './engine/intake/inbound.ts';
export type { Received } from './engine/intake/receive.ts';
export { type InboxStatus, Reprise } from './engine/reprise.ts';
export type { SendOptions, Session } from './engine/session.ts';
export type { SessionRef } from './engine/session-ref.ts';
export { type ToolOptions, tool } from './engine/tools/define-tool.ts';
export type { Tool, ToolContext, ToolOutput } from './engine/tools/tool.ts';
export type { TurnResult, TurnStream } from './engine/turn/turn-stream.ts';
export { type GuardModelCallOptions, guardModelCall } from './engine/window/guard-model-call.ts';
export { type ErrorCode, RepriseError } from './errors.ts';
export type { Model } from './models/model.ts';
export type { SessionRecord, Store } from './store/port/store.ts';
export type { Entry, Message } from './transcript/entry.ts';
