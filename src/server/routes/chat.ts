import type { ServerApp, ServerContext } from '../context.ts';

/** Messages in, events out. */
export function registerChat(_app: ServerApp, _context: ServerContext): void {}
