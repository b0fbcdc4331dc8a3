import type { Context } from 'hono';
import { failure } from '../../messages/failure.ts';
import type { ServerApp, ServerEnv } from '../context.ts';
import { DOCS_CSS, DOCS_HTML, DOCS_JS, HOME_HTML } from './page-files.ts';
import { readWebFiles, type WebFile } from './web-files.ts';

/**
 * Nothing from another origin and nothing inline. Trusted Types make every way from a text to markup or script throw in the
 * browser (I-70); the only policy allowed is the page's own, which gives the address of its highlighter and no other. Images
 * of a conversation are bytes the page fetched with its token.
 */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types reprise-worker";

const DOCS: Readonly<Record<string, readonly [type: string, text: string]>> = {
  '/docs': ['text/html', DOCS_HTML],
  '/docs/docs.js': ['text/javascript', DOCS_JS],
  '/docs/docs.css': ['text/css', DOCS_CSS],
};

/** Static files hold no data and come from nowhere else: whatever they show they fetch with the token. */
export function registerPages(app: ServerApp): void {
  const web = readWebFiles();
  app.get('/', (c) => (web === undefined ? text(c, 'text/html', HOME_HTML) : file(c, web.index, 'no-cache')));
  app.get('/assets/:file', (c) => {
    const found = web?.assets.get(c.req.param('file'));
    // Its name changes with its bytes.
    if (found !== undefined) return file(c, found, 'public, max-age=31536000, immutable');
    throw failure('NOT_FOUND', 'page.noFile');
  });
  for (const [path, [type, body]] of Object.entries(DOCS)) app.get(path, (c) => text(c, type, body));
}

function text(c: Context<ServerEnv>, type: string, body: string): Response {
  return c.body(body, 200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Security-Policy': PAGE_POLICY,
    'Cache-Control': 'no-cache',
  });
}

function file(c: Context<ServerEnv>, found: WebFile, caching: string): Response {
  const isPacked = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
  return c.body(new Uint8Array(isPacked ? found.gzip : found.bytes), 200, {
    'Content-Type': found.type,
    'Content-Security-Policy': PAGE_POLICY,
    'Cache-Control': caching,
    Vary: 'Accept-Encoding',
    ...(isPacked && { 'Content-Encoding': 'gzip' }),
  });
}
