/*
 * The settings of a server. They are public, so nothing here uses a type of another package: its declarations would
 * require type packages that users may not have.
 */

/** Limits that keep one client from using up the server. */
export interface ServerLimits {
  /** Maximum size of a request body without a message. */
  readonly bodyBytes: number;
  /** Maximum size of a body with a message: text, context and images in base64. */
  readonly messageBytes: number;
  readonly jsonDepth: number;
  /** Values and names in one body. */
  readonly jsonValues: number;
  /** Open connections. At the limit the oldest connection without a valid token is closed for a new one. */
  readonly connections: number;
  readonly headerBytes: number;
  readonly headersTimeoutMs: number;
  /** Time for the whole request to arrive. */
  readonly requestTimeoutMs: number;
  /**
   * Idle time of a connection. Longer than that of common proxies (60 s): the proxy, which sends the requests, should
   * close first.
   */
  readonly keepAliveMs: number;
  /** Wrong tokens per minute and address; valid tokens always pass. */
  readonly badTokens: number;
  /**
   * Requests per minute and address that need a token and have none. Pages, `/healthz` and the owner are not limited.
   */
  readonly requestsPerMinute: number;
  /** Open streams; the remaining connections serve other requests. */
  readonly streams: number;
  /** How long a stop waits for requests; `reprise serve` gives turns one second more. */
  readonly graceMs: number;
  /** Maximum unsent data of a slow stream reader before it is disconnected. */
  readonly streamBufferBytes: number;
  /** Interval of keep-alive comments in an idle stream. */
  readonly streamKeepAliveMs: number;
}

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
