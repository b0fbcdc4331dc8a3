import type { HttpBindings } from '@hono/node-server';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { CommandContext } from '../engine/commands/command-context.ts';
import type { Reprise } from '../engine/reprise.ts';
import type { Idempotency } from './idempotency.ts';
import type { Metrics } from './metrics.ts';
import type { ServerLimits } from './security/limits.ts';
import type { ServerToken } from './security/server-token.ts';
import type { StreamPlaces } from './sse/stream-places.ts';

/** What comes without a channel was written by the owner. */
export const OWN_CHANNEL = 'web';

/** Where structured lines go; pino is one. Nothing that is given to it holds a token or what was said. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What is configured for the server. Everything but the token has a default. */
export interface ServerConfig {
  /** By default 127.0.0.1. */
  readonly host?: string | undefined;
  /** By default 4747; 0: any that is free. */
  readonly port?: number | undefined;
  readonly token?: string | undefined;
  /** The file the token is in, and is made in if there is none; unset: `server-token` in the home. */
  readonly tokenFile?: string | undefined;
  /** Names this server answers for, beside loopback and the address it listens on. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Pages of these origins may call it (`https://admin.example`); none by default. */
  readonly cors?: { readonly origins: readonly string[] } | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
}

/** What every route is given. One per server. */
export interface ServerContext {
  readonly reprise: Reprise;
  readonly config: ServerConfig;
  readonly token: ServerToken;
  readonly limits: ServerLimits;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** What was answered to mutations that do not stream. Streams find their answer by the inbox row of the key. */
  readonly idempotency: Idempotency;
  readonly places: StreamPlaces;
  /** Aborts when the server stops: streams end then, and their clients resume elsewhere or later. */
  readonly closing: AbortSignal;
  /** As the engine finds models by name; unset: none can be chosen here. */
  readonly modelByName?: ModelByName | undefined;
  readonly version: string;
}

export type ModelByName = NonNullable<CommandContext['modelByName']>;

/** Who sent a request. There is one kind yet; what it may do is decided in `access.ts` and nowhere else. */
export interface Principal {
  readonly kind: 'owner';
  /** Aborts when the token of the request is replaced or revoked. */
  readonly until: AbortSignal;
}

export interface ServerEnv {
  /** Unset where the app is called without a socket. */
  Bindings: Partial<HttpBindings>;
  Variables: {
    requestId: string;
    /** The pattern of the route, for logs and metrics; `unknown` where there is none. */
    route: string;
    /** The caller's, or one made for it; returned on every answer to a mutation. */
    idempotencyKey: string;
    /** The caller sent the key itself. */
    hasOwnKey: boolean;
    /** The text of the body, within its limits and fit to be parsed; empty where there is none. */
    bodyText: string;
    principal: Principal | undefined;
  };
}

export type ServerApp = OpenAPIHono<ServerEnv>;
