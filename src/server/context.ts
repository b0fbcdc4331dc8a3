import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { CommandContext } from '../engine/commands/command-context.ts';
import type { Reprise } from '../engine/reprise.ts';
import type { Idempotency } from './idempotency.ts';
import type { Metrics } from './metrics.ts';
import type { ServerLimits } from './security/limits.ts';
import type { ServerToken } from './security/server-token.ts';
import type { StreamPlaces } from './sse/stream-places.ts';

/** The channel of messages sent without one: they come from the owner. */
export const OWN_CHANNEL = 'web';
/** The channel of messages of users: they have the rights of senders. */
export const USER_CHANNEL = 'app';

/** A structured logger, such as pino. Fields never contain tokens or message text. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Settings of the server. All except the token have a default. */
export interface ServerConfig {
  /** Default: 127.0.0.1. */
  readonly host?: string | undefined;
  /** Default: 4747. 0 selects a free port. */
  readonly port?: number | undefined;
  readonly token?: string | undefined;
  /** The file with the token; created if it is missing. Default: `server-token` in the home. */
  readonly tokenFile?: string | undefined;
  /** Host names the server accepts, besides loopback and the address it listens on. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins whose pages may call the API (`https://admin.example`). Default: none. */
  readonly cors?: { readonly origins: readonly string[] } | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
}

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
  readonly version: string;
}

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
