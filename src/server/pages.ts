import type { ServerApp } from './context.ts';
import { DOCS_CSS, DOCS_HTML, DOCS_JS, HOME_HTML } from './page-files.ts';

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const FILES: Readonly<Record<string, readonly [type: string, text: string]>> = {
  '/': ['text/html', HOME_HTML],
  '/docs': ['text/html', DOCS_HTML],
  '/docs/docs.js': ['text/javascript', DOCS_JS],
  '/docs/docs.css': ['text/css', DOCS_CSS],
};

/** Static files hold no data and come from nowhere else: whatever they show they fetch with the token. */
export function registerPages(app: ServerApp): void {
  for (const [path, [type, text]] of Object.entries(FILES))
    app.get(path, (c) =>
      c.body(text, 200, {
        'Content-Type': `${type}; charset=utf-8`,
        'Content-Security-Policy': PAGE_POLICY,
        'Cache-Control': 'no-cache',
      }),
    );
}
