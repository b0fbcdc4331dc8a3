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

const LANGUAGES = { bash, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

/** Text, or what is inside a span of that class; an empty class is no span. */
export type Colored = string | { readonly name: string; readonly inside: readonly Colored[] };

interface Scope {
  readonly scope?: string;
  readonly children: readonly (string | Scope)[];
}

/** Drawing more spans than these would keep the page from answering. */
const MAX_SPANS = 10_000;

/** @returns undefined for a language it does not know and for code with too many spans. Never HTML. */
export function highlight(code: string, language: string): Colored | undefined {
  if (hljs.getLanguage(language) === undefined) return undefined;
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
  let spans = 0;
  const color = ({ scope = '', children }: Scope): Colored => {
    spans++;
    const [name = ''] = scope.split('.');
    return { name, inside: children.map((child) => (typeof child === 'string' ? child : color(child))) };
  };
  const colored = color((_emitter as unknown as { readonly rootNode: Scope }).rootNode);
  return spans > MAX_SPANS ? undefined : colored;
}
