import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import python from 'highlight.js/lib/languages/python';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { type ComponentChildren, h } from 'preact';

/** Loaded when the first block of code is shown. */
const LANGUAGES = { bash, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

interface Scope {
  readonly scope?: string;
  readonly children: readonly (string | Scope)[];
}

/** Its tree of scopes as nodes, never its HTML; undefined: a language it does not know. */
export function highlight(code: string, name: string): ComponentChildren | undefined {
  if (hljs.getLanguage(name) === undefined) return undefined;
  const { _emitter } = hljs.highlight(code, { language: name, ignoreIllegals: true });
  return nodes((_emitter as unknown as { readonly rootNode: Scope }).rootNode);
}

function nodes({ scope, children }: Scope): ComponentChildren {
  const inside = children.map((child) => (typeof child === 'string' ? child : nodes(child)));
  const [first = ''] = (scope ?? '').split('.');
  return /^[a-z][\w-]*$/.test(first) ? h('span', { class: `hl-${first}` }, inside) : inside;
}
