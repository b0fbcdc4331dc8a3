/** `reprise/server`: the HTTP API, to mount in an application. */

export type { Logger, ServerConfig } from './context.ts';
export { type AppCaller, type CreateAppOptions, createApp, type RepriseApp } from './create-app.ts';
export type { ServerLimits } from './security/limits.ts';
