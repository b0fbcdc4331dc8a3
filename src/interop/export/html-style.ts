/** The whole look of an exported page. Its hash is the only thing the page's policy lets through. */
export const PAGE_STYLE: string = `
:root { color-scheme: light dark; --ink: #1c1c1e; --soft: #63636a; --page: #fff; --card: #f4f4f6; --line: #d8d8de; --mark: #2f5bd0; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #ececf0; --soft: #a2a2ab; --page: #151517; --card: #212125; --line: #38383f; --mark: #8fb0ff; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1rem 4rem; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; overflow-wrap: anywhere; }
header p, .when, .note, footer { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
article { margin: 1.25rem 0; padding: .75rem 1rem; border-left: 3px solid var(--line); border-radius: .25rem; background: var(--card); }
article.user { border-left-color: var(--mark); }
h2 { margin: 0 0 .25rem; font-size: .85rem; font-weight: 600; overflow-wrap: anywhere; }
.when { font-weight: 400; }
.text, pre { margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { padding: .5rem .75rem; border: 1px solid var(--line); border-radius: .25rem; background: var(--page); font: .85rem/1.45 ui-monospace, monospace; }
details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
summary:focus-visible { outline: 2px solid var(--mark); outline-offset: 2px; }
.failed > summary { color: var(--bad); }
.rule { margin: 2rem 0; border-top: 2px dashed var(--line); border-bottom: 2px dashed var(--line); padding: .5rem 0; }
img { max-width: 100%; height: auto; }
@media print { body { max-width: none; padding: 0; background: #fff; color: #000; } article { break-inside: avoid-page; background: none; } details::details-content { content-visibility: visible; height: auto; } }
`;
