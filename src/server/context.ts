import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { CommandContext } from '../engine/commands/command-context.ts';
import type { Reprise } from '../engine/reprise.ts';
import type { Idempotency } from './idempotency.ts';
import type { Metrics } from './metrics.ts';
import type { ServerToken } from './security/server-token.ts';
import type { Logger, ServerConfig, ServerLimits } from './server-config.ts';
import type { StreamPlaces } from './sse/stream-places.ts';

/** The channel of messages sent without one: they come from the owner. */
export const OWN_CHANNEL = 'web';
/** The channel of messages of users: they have the rights of senders. */
export const USER_CHANNEL = 'app';

/** What every route receives. One per server. */
export interface ServerContext {
  readonly reprise: Reprise;
  readonly config: ServerConfig;
  /** Unset: the application decides who a caller is, see `identify`. */
  readonly token?: ServerToken | undefined;
  readonly identify?: Identify | undefined;
  readonly limits: ServerLimits;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Answers to requests that change something, except streams: those find their answer by the inbox row of the key. */
  readonly idempotency: Idempotency;
  readonly places: StreamPlaces;
  /** Aborts when the server stops: streams end, and their clients resume later or on another server. */
  readonly closing: AbortSignal;
  /** Finds models by name, as the engine does; if unset, clients cannot choose a model. */
  readonly modelByName?: ModelByName | undefined;
  /** Lists the models that can be chosen; if unset, none is listed. */
  readonly listModels?: ListModels | undefined;
  readonly version: string;
}

export type ListModels = NonNullable<CommandContext['listModels']>;
export type ModelByName = NonNullable<CommandContext['modelByName']>;

/** Who sent a request. `access.ts` decides which routes it may use, `ownership.ts` which sessions. */
export interface Principal {
  /** The owner may do everything; a user works with its own sessions; a reader reads those of its user. */
  readonly kind: 'owner' | 'user' | 'reader';
  /** Set unless it is the owner. */
  readonly user?: string;
  /** Aborts when the token of the request is replaced or revoked. */
  readonly until: AbortSignal;
}

/** Decides who sent a request. @returns undefined for a caller that is not known. */
export type Identify = (request: Request) => Promise<Principal | undefined>;

export interface ServerEnv {
  /** Unset if the app is called without a socket, as in tests. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    /** The pattern of the route, for logs and metrics; `unknown` if no route matches. */
    route: string;
    /** Sent by the caller or generated; returned in every answer to a request that changes something. */
    idempotencyKey: string;
    /** The caller sent the key itself. */
    hasOwnKey: boolean;
    /** The body as text, checked against the limits; empty if there is no body. */
    bodyText: string;
    principal: Principal | undefined;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
