/** The files of the static pages as text, so that they are part of the program and nothing has to be found on a disk. */

export const HOME_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reprise</title>
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<main>
<h1>Reprise</h1>
<p>The API runs here; its page has not been built (npm run build:web). <a href="docs">docs</a> shows what it can do; it asks for the token of this server.</p>
</main>
</body>
</html>
`;

export const DOCS_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Reprise: the API</title>
<link rel="stylesheet" href="docs/docs.css">
<script src="docs/docs.js" defer></script>
</head>
<body>
<main>
<h1>The API</h1>
<form id="ask">
<label for="token">Token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" required>
<button>Show</button>
<p>The server told at its start in which file it is. It stays in this page.</p>
</form>
<p id="told" role="status"></p>
<div id="operations"></div>
</main>
</body>
</html>
`;

export const DOCS_CSS = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre, input { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow: auto; padding: 0.75rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: 0.4rem 0; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 4.5rem; }
input { width: 24rem; max-width: 100%; padding: 0.3rem; }
`;

/** Builds everything with textContent: nothing in the document can become markup. */
export const DOCS_JS = `'use strict';
const told = document.getElementById('told');
const place = document.getElementById('operations');

function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function parameters(list) {
  if (!list || list.length === 0) return [];
  const items = list.map((one) => {
    const note = [one.in, one.required ? 'required' : '', one.description || (one.schema && one.schema.description) || '']
      .filter(Boolean).join(', ');
    return element('li', '', element('code', one.name), ' ' + note);
  });
  return [element('h4', 'Parameters'), element('ul', '', ...items)];
}

function schemaOf(content) {
  const [first] = Object.values(content || {});
  return first && first.schema ? [element('pre', JSON.stringify(first.schema, null, 2))] : [];
}

function operation(method, path, op) {
  const head = element('summary', '', element('b', method.toUpperCase()), element('code', path), ' ' + (op.summary || ''));
  const body = op.requestBody ? [element('h4', 'Body'), ...schemaOf(op.requestBody.content)] : [];
  const answers = Object.entries(op.responses || {}).flatMap(([status, answer]) => [
    element('h4', status + ' ' + (answer.description || '')), ...schemaOf(answer.content)]);
  return element('details', '', head, ...parameters(op.parameters), ...body, ...answers);
}

async function show(token) {
  told.textContent = 'Reading …';
  place.replaceChildren();
  const answer = await fetch('openapi.json', { headers: { Authorization: 'Bearer ' + token } });
  const text = await answer.json();
  if (!answer.ok) { told.textContent = text.error || 'It was refused.'; return; }
  const groups = new Map();
  for (const [path, methods] of Object.entries(text.paths))
    for (const [method, op] of Object.entries(methods)) {
      const [tag = 'other'] = op.tags || [];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(method, path, op));
    }
  told.textContent = text.info.title + ' ' + text.info.version;
  for (const [tag, list] of groups) place.append(element('h2', tag), ...list);
  place.append(element('h2', 'schemas'), ...Object.entries((text.components || {}).schemas || {}).map(([name, schema]) =>
    element('details', '', element('summary', name), element('pre', JSON.stringify(schema, null, 2)))));
}

function tell(error) { told.textContent = 'No answer: ' + error.message; }

document.getElementById('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  show(document.getElementById('token').value.trim()).catch(tell);
});

// A fragment never leaves the browser, unlike a query.
const given = new URLSearchParams(location.hash.slice(1)).get('token');
if (given) {
  history.replaceState(null, '', location.pathname);
  show(given).catch(tell);
}
`;
