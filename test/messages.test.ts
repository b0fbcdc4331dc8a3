import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ENGLISH } from '../src/messages/english.ts';
import { translate } from '../src/messages/message.ts';
import { SAMPLES } from './support/message-samples.ts';

/* Texts for people come from one table by their code (docs/decisions/0019). These tests keep sentences out of the code. */

/** Errors that were made elsewhere and are made again here, with the text they had there. */
const REMADE: Readonly<Record<string, string>> = {
  'src/messages/failure-in.ts': 'the one place that makes an error from a code',
  'src/messages/failure.ts': 'the same failure again, with other details',
  'src/client/connection.ts': 'a problem that a server sent, maybe of another version',
  'src/cli/repl/remote-chat.ts': 'an error event that a server sent',
  'src/engine/turn/recovery.ts': 'the error of a turn, as its transcript has it',
  'src/engine/turn/turn-stream.ts': 'the error event of a turn, maybe from another process',
  'src/store/sqlite/threads/thread-client.ts': 'an error that a storage thread sent',
};

/** Files that must read the texts of others, because these give no codes. */
const READS_TEXTS_OF: Readonly<Record<string, string>> = {
  'src/store/postgres/connection/pg-meaning.ts': 'the driver pg and PgBouncer',
  'src/models/model-error.ts': 'model providers',
  'src/models/overflow.ts': 'model providers',
  'src/models/offline/digest.ts': 'messages, for the offline model',
  'src/models/offline/reply.ts': 'messages, for the offline model',
  'src/models/offline/tool-asks.ts': 'messages, for the offline model',
};

const TWO_WORDS = /[a-z]{2,} [a-z]{2,}/i;
const REGEXP = /(?<=[(,=:?&|!\s[])\/((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g;
const COMPARED =
  /(?:\.(?:includes|startsWith|endsWith|indexOf|search|match)\(|[!=]==)\s*(?:'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"|`([^`$]+)`)/g;
/** Any literal beside the message of an error, however short. */
const MESSAGE_READ =
  /\b(?:error|cause|failure|problem|refusal)\??\.message\??(?:\.(?:includes|startsWith|endsWith|indexOf|search|match)\(\s*['"`/]|\s*[!=]==\s*['"`])|['"/]\w*\.(?:test|exec)\((?:error|cause|failure|problem|refusal)\??\.message\)/;

interface Source {
  readonly file: string;
  readonly code: string;
}

function sources(...roots: readonly string[]): Source[] {
  return roots.flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter(({ name, parentPath }) => /\.tsx?$/.test(name) && !parentPath.includes('node_modules'))
      .map(({ name, parentPath }) => join(parentPath, name))
      .map((file) => ({ file, code: withoutComments(readFileSync(file, 'utf8')) })),
  );
}

function withoutComments(code: string): string {
  return code.replace(/^\s*\/\*.*?\*\/$/gms, '').replace(/(^|\s)\/\/ [^\n]*/g, '$1');
}

/** Every English text, as samples show it and as the tables have it. */
const TEXTS: readonly string[] = [
  ...Object.entries(SAMPLES).flatMap(([code, params]) => textsOf(code, params)),
  ...sources('src/messages').flatMap(({ code }) => code.split('\n')),
];

function textsOf(code: string, params: object): string[] {
  const text = translate(ENGLISH, { code, params }) ?? '';
  return (typeof text === 'string' ? [text] : text).flatMap((part) => part ?? []);
}

const isOurs = (pattern: RegExp): boolean => TEXTS.some((text) => pattern.test(text));

/** What a file does with sentences of the table, or with the message of any error. */
function sentencesRead({ file, code }: Source): string[] {
  const found: string[] = [];
  if (MESSAGE_READ.test(code)) found.push(`${file} reads the message of an error`);
  for (const [, source = '', flags = ''] of code.matchAll(REGEXP)) {
    if (!TWO_WORDS.test(source)) continue;
    if (isOurs(new RegExp(source, flags.replace(/[gy]/g, '')))) found.push(`${file} matches /${source}/`);
  }
  for (const [, single, double, plain] of code.matchAll(COMPARED)) {
    const text = single ?? double ?? plain ?? '';
    if (TWO_WORDS.test(text) && TEXTS.some((ours) => ours.includes(text)))
      found.push(`${file} compares with "${text}"`);
  }
  return found;
}

describe('texts for people', () => {
  const all = sources('src', 'web/src');

  test('of errors come from the table', () => {
    const made = all.filter(({ code }) => /new RepriseError\(/.test(code)).map(({ file }) => file);
    expect(made.sort()).toEqual(Object.keys(REMADE).sort());
    for (const { file, code } of all) expect(code, file).not.toMatch(/new RepriseError\(\s*[^,()]+,\s*['"`]/);
  });

  test('are matched nowhere: a code says what happened', () => {
    const outside = all.filter(({ file }) => !file.startsWith('src/messages/'));
    const found = outside.filter(({ file }) => !Object.hasOwn(READS_TEXTS_OF, file)).flatMap(sentencesRead);
    expect(found).toEqual([]);
    for (const file of Object.keys(READS_TEXTS_OF))
      expect(outside.map((source) => source.file)).toContain(file);
  });

  test('are all in use', () => {
    const texts = /^(?:src\/messages\/|web\/src\/i18n\/)/;
    const used = all.filter(({ file }) => !texts.test(file)).map(({ code }) => code);
    const unused = Object.keys(SAMPLES).filter(
      (code) => !used.some((source) => source.includes(`'${code}'`)),
    );
    expect(unused).toEqual([]);
  });

  test.each([
    ["if (error.message.includes('busy')) retry();", true],
    ["if (cause?.message === 'x') retry();", true],
    ['return /locked by/.test(error.message);', true],
    ["if (text.startsWith('the store is closed')) retry();", true],
    ['const CLOSED = /^the store is closed$/;', true],
    ["const isClosed = text === 'the store was opened read-only';", true],
    ["if (error.code === 'STORE_BUSY') retry();", false],
    ['const DATE = /^\\d+ [a-z]+$/;', false],
  ])('%s is found: %s', (code, isFound) => {
    expect(sentencesRead({ file: 'src/example.ts', code }).length > 0).toBe(isFound);
  });
});
