import type { ServerApp, ServerContext } from '../context.ts';

/** The door of channel adapters. */
export function registerInbound(_app: ServerApp, _context: ServerContext): void {}
