/** `reprise/server`: the HTTP API, to mount in an application. */

export { type AppCaller, type CreateAppOptions, createApp, type RepriseApp } from './create-app.ts';
export type { Logger, ServerConfig, ServerLimits } from './server-config.ts';
